package drawing

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"locklab/lab/history"
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
	label   []string // its lines
	row     int
	missing int // number of events before it that are not drawn
	before  int // width of the gap for them, if they are many
}

// layout gives each event its position: from left to right, with room for its label, and more room after a longer time. A drawing wider
// than room continues in rows below. rows are the x at which these begin.
func layout(events []history.Event, keyOf func(history.Event) string, room int) (all []column, rows []int, width int) {
	const most, wrapped, wider, margin = 420, 140, 40, 80
	_, _, width = stretched(events, keyOf, 0, step, math.MaxInt)
	if width <= room {
		return stretched(events, keyOf, min(most, room-width), step, room)
	}
	n := (width + wrapped + room - 1) / room
	spare := max(0, n*(room-margin)-width-wrapped) / len(events)
	for even := (width + wrapped) / n; even < room; even += wider { // rows of about the same width
		if all, rows, width = stretched(events, keyOf, wrapped, step+min(wider, spare), even); len(rows) <= n {
			return all, rows, width
		}
	}
	return stretched(events, keyOf, wrapped, step, room)
}

// step is the least distance of two events.
const step = 15

// place is where a label stands on a timeline, in which labels must not overlap.
type place struct {
	timeline string
	row      int
}

// stretched lays events out with a width for time and a distance for each event, in rows of at most room.
func stretched(
	events []history.Event, keyOf func(history.Event) string, stretch, distance, room int,
) (all []column, rows []int, width int) {
	const margin, gap, beside = 18, 10, 80
	total := span(events)
	ends := make(map[place]int) // where what stands there ends
	x, rows := margin-distance, []int{0}
	for i, e := range events {
		at := column{Event: e}
		if !history.EffectFollows(events[i:]) {
			text, row := label(e, keyOf(e))
			at.row = row
			if row != nowhere && text != "" {
				at.label = lines(text, longLabel)
			}
		}
		x += distance
		if i > 0 {
			x += int(time.Duration(stretch) * max(0, e.At-events[i-1].At) / total)
			if at.missing = e.Seq - events[i-1].Seq - 1; at.missing >= gap {
				room := wide("+ "+Count(at.missing, "event")) + beside
				x, at.before = x+room, room+distance
			}
		}
		if at.put(x, rows[len(rows)-1], ends); at.end()+margin > rows[len(rows)-1]+room && i > 0 && rows[len(rows)-1] < width {
			rows = append(rows, width)
			at.put(width+margin+max(at.before, at.half()), width, ends)
		}
		at.fill(ends)
		x = at.x
		width = max(width, at.end()+margin)
		all = append(all, at)
	}
	return all, rows, width
}

// half is half of the width of the label, with what it must keep free.
func (c *column) half() int { return widest(c.label)/2 + 5 }

// end is where the event and its label end.
func (c *column) end() int {
	if c.row == inside {
		return c.x + 2*c.half() + 6
	}
	return c.x + max(9, c.half())
}

// put places the event at x, or further right where its label has room in a row that begins at from.
func (c *column) put(x, from int, ends map[place]int) {
	c.x = max(x, ends[place{c.Timeline, inside}]+9)
	if c.row == above || c.row == below {
		c.x = max(c.x, from+widest(c.label)/2, ends[place{c.Timeline, c.row}]+c.half())
	}
}

// fill says that the event's place is taken.
func (c *column) fill(ends map[place]int) {
	ends[place{c.Timeline, inside}] = c.x + 9
	if c.row != nowhere {
		ends[place{c.Timeline, c.row}] = c.end()
	}
}

// span is the duration of events. Steps back of a clock count as zero.
func span(events []history.Event) time.Duration {
	total := time.Duration(1)
	for i := 1; i < len(events); i++ {
		total += max(0, events[i].At-events[i-1].At)
	}
	return total
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

// acts are the kinds of events that only a client has.
var acts = []history.Kind{history.Request, history.Grant, history.Release, history.Read, history.Write, history.Win, history.Command}

// timelines returns the names of the timelines of events: first those of clients, sorted, then the others. Of those, node-1 to node-5
// are beside each other, where the first of them appears.
func timelines(events []history.Event) []string {
	var clients, others []string
	for _, e := range events {
		if slices.Contains(acts, e.Kind) && !slices.Contains(clients, e.Timeline) {
			clients = append(clients, e.Timeline)
		}
	}
	for _, e := range events {
		if !slices.Contains(clients, e.Timeline) && !slices.Contains(others, e.Timeline) {
			others = append(others, e.Timeline)
		}
	}
	slices.SortStableFunc(clients, numerically)
	var stems []string
	for _, name := range others {
		stems = append(stems, stem(name))
	}
	slices.SortStableFunc(others, func(a, b string) int {
		return cmp.Or(slices.Index(stems, stem(a))-slices.Index(stems, stem(b)), numerically(a, b))
	})
	return append(clients, others...)
}

// stem is a name without its number.
func stem(name string) string { return strings.TrimRight(name, "0123456789") }

// numerically compares names: driver 2 comes before driver 10.
func numerically(a, b string) int {
	return cmp.Or(strings.Compare(stem(a), stem(b)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
