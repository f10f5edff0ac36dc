package report

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"locklab/history"
)

// How much of a long trial is drawn.
const (
	mostEvents = 80
	mostLanes  = 12
)

// Where the label of an event stands.
const (
	nowhere = iota
	above   // what the resource saw
	inside  // the bar that begins with it
	below   // what a client believes
)

// column is an event with its place.
type column struct {
	history.Event
	x       int
	label   string
	row     int
	missing int // how many events before it are not drawn
	before  int // the room that was left for them, if they are many
}

// arrange gives each event its place: from left to right, with room for its label, and more room after a longer time.
// The time gets what is left of a screen's width, but always enough to be seen.
func arrange(events []history.Event) (all []column, width int) {
	const screen, least, most = 1080, 140, 420
	_, width = stretched(events, 0)
	return stretched(events, max(least, min(most, screen-width)))
}

// stretched arranges events with so much room for time, over all.
func stretched(events []history.Event, stretch int) (all []column, width int) {
	const margin, step, gap, missing = 18, 15, 10, 70
	total := span(events)
	type place struct {
		lane string
		row  int
	}
	fence := fences(events)
	ends := make(map[place]int) // where what stands there ends
	x := margin - step
	for i, e := range events {
		at := column{Event: e}
		if at.label, at.row = label(e, fence); effective(events[i:]) {
			at.label, at.row = "", nowhere
		}
		x += step
		if i > 0 {
			x += int(time.Duration(stretch) * max(0, e.At-events[i-1].At) / total)
			if at.missing = e.Seq - events[i-1].Seq - 1; at.missing >= gap {
				x, at.before = x+missing, missing+step
			}
		}
		half := wide(at.label)/2 + 5
		bar, text := place{e.Timeline, inside}, place{e.Timeline, at.row}
		x = max(x, ends[bar]+9)
		if at.row == above || at.row == below {
			x = max(x, ends[text]+half)
			ends[text] = x + half
		}
		ends[bar] = x + 9
		width = max(width, x+half+margin)
		if at.row == inside {
			ends[bar] = x + 2*half + 6
			width = max(width, ends[bar]+margin)
		}
		at.x = x
		all = append(all, at)
	}
	return all, width
}

// span is how long events took, with no time counted twice that a clock went back.
func span(events []history.Event) time.Duration {
	total := time.Duration(1)
	for i := 1; i < len(events); i++ {
		total += max(0, events[i].At-events[i-1].At)
	}
	return total
}

// effective reports whether the first of events is a command whose effect comes next: that says it better.
func effective(events []history.Event) bool {
	return len(events) > 1 && events[0].Kind == history.Command && events[0].Timeline == events[1].Timeline &&
		(events[1].Kind == history.Read || events[1].Kind == history.Write)
}

// at is where the event with a number stands, or would.
func (c *canvas) at(seq int) int {
	i := sort.Search(len(c.columns), func(i int) bool { return c.columns[i].Seq >= seq })
	switch {
	case i == len(c.columns):
		return c.Width
	case c.columns[i].Seq == seq:
		return c.columns[i].x
	case i == 0:
		return 0
	}
	return (c.columns[i-1].x + c.columns[i].x) / 2
}

// thin leaves of a long trial the events around its breach, its faults, and its end; and says so.
func thin(events []history.Event, found *history.Violation) (shown []history.Event, left string) {
	focus := func(e history.Event) bool { return found != nil && slices.Contains(found.Events, e.Seq) }
	lanes := laneNames(events)
	shown = events
	if len(lanes) > mostLanes {
		kept := keptLanes(events, focus)
		shown = slices.DeleteFunc(slices.Clone(events), func(e history.Event) bool { return !slices.Contains(kept, e.Timeline) })
	}
	if len(shown) > mostEvents {
		shown = around(shown, focus)
	}
	if len(shown) < len(events) {
		which := "the first, the faults and the end"
		if found != nil {
			which = "those around the breach, the faults, and the end"
		}
		left = fmt.Sprintf("%d of %d events are drawn, on %d of %d lanes: %s. All are in the history.",
			len(shown), len(events), len(laneNames(shown)), len(lanes), which)
	}
	return shown, left
}

// weighty are the events of which none may be missing.
func weighty(e history.Event) bool {
	return e.Kind == history.Fault || e.Kind == history.Heal || e.Kind == history.Die || e.Kind == history.Final
}

func keptLanes(events []history.Event, focus func(history.Event) bool) (kept []string) {
	keep := func(wanted func(history.Event) bool) {
		for _, e := range events {
			if len(kept) < mostLanes && wanted(e) && !slices.Contains(kept, e.Timeline) {
				kept = append(kept, e.Timeline)
			}
		}
	}
	keep(focus)
	keep(weighty)
	keep(func(history.Event) bool { return true })
	return kept
}

// around picks the events that are wanted and then those next to them, as many as can be drawn.
func around(events []history.Event, focus func(history.Event) bool) (shown []history.Event) {
	picked := make(map[int]bool)
	pick := func(i int) {
		if i >= 0 && i < len(events) && len(picked) < mostEvents {
			picked[i] = true
		}
	}
	var centres []int
	if !slices.ContainsFunc(events, focus) {
		pick(0)
		centres = append(centres, 0)
	}
	for _, wanted := range []func(history.Event) bool{focus, weighty} {
		for i, e := range events {
			if wanted(e) && len(picked) < mostEvents/2 {
				pick(i)
				centres = append(centres, i)
			}
		}
	}
	for far := 0; len(picked) < mostEvents; far++ {
		for _, i := range centres {
			pick(i - far)
			pick(i + far)
		}
	}
	for i, e := range events {
		if picked[i] {
			shown = append(shown, e)
		}
	}
	return shown
}
