package report

import (
	"sort"
	"time"

	"locklab/history"
)

// Position of an event's label.
const (
	nowhere = iota
	above   // what the resource saw
	inside  // the bar that begins with the event
	below   // what a client believes
)

type column struct {
	history.Event
	x       int
	label   string
	row     int
	missing int // number of events before it that are not drawn
	before  int // width of the gap for them, if they are many
}

// layout gives each event its position: from left to right, with room for its label, and more room after a longer time. Time gets the
// rest of a screen's width, within bounds.
func layout(events []history.Event) (all []column, width int) {
	const screen, least, most = 1080, 140, 420
	_, width = stretched(events, 0)
	return stretched(events, max(least, min(most, screen-width)))
}

// place is a row of a timeline, in which labels must not overlap.
type place struct {
	timeline string
	row      int
}

// stretched lays events out with a width for time.
func stretched(events []history.Event, stretch int) (all []column, width int) {
	const margin, step, gap, missing = 18, 15, 10, 70
	total, token := span(events), tokens(events)
	ends := make(map[place]int) // where what stands there ends
	x := margin - step
	for i, e := range events {
		at := column{Event: e}
		if !effectFollows(events[i:]) {
			at.label, at.row = label(e, token)
		}
		x += step
		if i > 0 {
			x += int(time.Duration(stretch) * max(0, e.At-events[i-1].At) / total)
			if at.missing = e.Seq - events[i-1].Seq - 1; at.missing >= gap {
				x, at.before = x+missing, missing+step
			}
		}
		x = at.put(x, ends)
		width = max(width, x+wide(at.label)/2+5+margin, ends[place{e.Timeline, inside}]+margin)
		all = append(all, at)
	}
	return all, width
}

// put places the event at x, or further right where its label has room.
func (c *column) put(x int, ends map[place]int) int {
	half := wide(c.label)/2 + 5
	bar, text := place{c.Timeline, inside}, place{c.Timeline, c.row}
	x = max(x, ends[bar]+9)
	if c.row == above || c.row == below {
		x = max(x, ends[text]+half)
		ends[text] = x + half
	}
	ends[bar] = x + 9
	if c.row == inside {
		ends[bar] = x + 2*half + 6
	}
	c.x = x
	return x
}

// span is the duration of events. Steps back of a clock count as zero.
func span(events []history.Event) time.Duration {
	total := time.Duration(1)
	for i := 1; i < len(events); i++ {
		total += max(0, events[i].At-events[i-1].At)
	}
	return total
}

// effectFollows reports whether the first of events is a command and the next its effect: then the effect gets the label.
func effectFollows(events []history.Event) bool {
	return len(events) > 1 && events[0].Kind == history.Command && events[0].Timeline == events[1].Timeline &&
		(events[1].Kind == history.Read || events[1].Kind == history.Write)
}

// at is the x of the event with a number, or of the gap where it is left out.
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
