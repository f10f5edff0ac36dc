package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"locklab/history"
)

// The measures of a drawing, in pixels.
const (
	timelineHeight = 66
	barHalf        = 11
	headRoom       = 10
	headRow        = 20
	axisRoom       = 30
	letter         = 7 // about as wide as one is
)

// drawing is the picture of a trial: a timeline for each client and node, time to the right.
type drawing struct {
	Width, Height int
	Names         names
	Timelines     []timeline
	Faults        []band
	Waits, Bars   []bar
	Overlaps      []overlap
	Marks         []mark
	Ticks         []tick
	Breaks        []tick
	Legend        []shape
	Said          string // all overlaps, for a screen reader
	Left          string // what is not drawn
	Bottom        int    // of the timelines

	Harmed, Believed, Shown bool // what the legend must explain
}

type names struct{ Width, Height int }

type timeline struct {
	Name, Short string
	Y           int
}

// bar is a part of a timeline: a time in which a client holds the lock, or waits for it.
type bar struct {
	X, Y, Width, Height int
	Open                bool // no event ends it
}

// band is a fault: it covers all timelines, from its beginning to its end.
type band struct {
	X, Width, Height, LabelX, LabelY int
	Text                             string
}

type mark struct {
	X, Y           int
	Shape          string
	Label          string
	LabelX, LabelY int
	Anchor         string
	Shows          bool // it is an event of the violation
	Hatched        bool // its label is in an overlap
	Says           string
}

type tick struct {
	X    int
	Text string
}

type canvas struct {
	*drawing
	began   time.Duration
	columns []column
	heights map[string]int // y of each timeline, by name
	grants  map[int]bool   // numbers of the events that are grants
	taken   int            // how many of the rows are for faults
	rows    []int          // of texts above the timelines: where each ends
}

// draw draws the events of a trial, or those around its violation. Measurements have a chart of their own.
func draw(events []history.Event, found *history.Violation) *drawing {
	measure := func(e history.Event) bool { return e.Kind == history.Measure }
	shown, left := thin(slices.DeleteFunc(slices.Clone(events), measure), found)
	if len(shown) == 0 {
		return nil
	}
	c := &canvas{drawing: &drawing{Left: left}, began: events[0].At, heights: make(map[string]int), grants: make(map[int]bool)}
	for _, e := range events {
		c.grants[e.Seq] = e.Kind == history.Grant
	}
	c.columns, c.Width = layout(shown)
	c.addFaults(events)
	c.taken = len(c.rows)
	holds := history.Holders(events)
	overlaps := c.overlaps(holds, found)
	c.addTimelines(shown)
	c.addBars(holds)
	c.addOverlaps(overlaps)
	c.addMarks(found)
	c.addTicks()
	return c.drawing
}

// addFaults lays a band from each fault to its end on the same timeline.
func (c *canvas) addFaults(events []history.Event) {
	for i, e := range events {
		if e.Kind != history.Fault {
			continue
		}
		from, to := c.at(e.Seq), c.Width
		heals := func(h history.Event) bool { return h.Kind == history.Heal && h.Timeline == e.Timeline }
		if healed := slices.IndexFunc(events[i:], heals); healed >= 0 {
			to = c.at(events[i+healed].Seq)
		}
		text := short("✗ "+e.Timeline+": "+e.Text, 60)
		c.Faults = append(c.Faults, band{X: from, Width: max(6, to-from), LabelX: from + 6, LabelY: c.heading(from+6, text), Text: text})
	}
}

// heading finds a row for a text above all timelines.
func (c *canvas) heading(x int, text string) (y int) {
	row := c.taken
	for row < len(c.rows) && c.rows[row] >= x {
		row++
	}
	if row == len(c.rows) {
		c.rows = append(c.rows, 0)
	}
	c.rows[row] = x + wide(text) + 16
	c.Width = max(c.Width, c.rows[row])
	return headRoom + row*headRow + 12
}

// addBars draws when a client held the lock, and before that the wait for it.
func (c *canvas) addBars(holds []history.Holder) {
	for _, h := range holds {
		y, known := c.heights[h.Timeline]
		if !known {
			continue
		}
		asked, from, to := c.hold(h)
		if to <= 0 || from >= c.Width {
			continue // it is outside of what is drawn
		}
		if asked < from {
			c.Waits = append(c.Waits, bar{X: asked, Y: y - 3, Width: from - asked, Height: 6})
		}
		c.Bars = append(c.Bars, bar{X: from, Y: y - barHalf, Width: max(4, to-from), Height: 2 * barHalf, Open: h.Open})
	}
}

// hold returns where a lock was requested, granted and released.
func (c *canvas) hold(h history.Holder) (asked, from, to int) {
	granted := slices.IndexFunc(h.Seqs, func(seq int) bool { return c.grants[seq] })
	asked, from, to = c.at(h.Seqs[0]), c.at(h.Seqs[granted]), c.Width
	if !h.Open {
		to = c.at(h.Seqs[granted+1])
	}
	return asked, from, to
}

func (c *canvas) addMarks(found *history.Violation) {
	used := make(map[string]bool)
	for _, at := range c.columns {
		y := c.heights[at.Timeline]
		m := mark{
			X: at.x, Y: y, Shape: shapeOf(at.Kind).ID, Label: at.label, LabelX: at.x, Anchor: "middle",
			Shows: found != nil && slices.Contains(found.Events, at.Seq), Says: describe(at.Event, c.began),
		}
		switch at.row {
		case inside:
			m.LabelX, m.LabelY, m.Anchor = at.x+9, y+4, "start"
			m.Hatched = c.hatched(at.x, y)
		case above:
			m.LabelY = y - barHalf - 7
		case below:
			m.LabelY = y + barHalf + 16
		}
		used[m.Shape] = used[m.Shape] || m.Label == ""
		c.Shown = c.Shown || m.Shows
		c.Marks = append(c.Marks, m)
	}
	for _, s := range shapes {
		if used[s.ID] {
			c.Legend = append(c.Legend, s)
		}
	}
}

// hatched reports whether an overlap is drawn at x on the timeline at y.
func (c *canvas) hatched(x, y int) bool {
	return slices.ContainsFunc(c.Overlaps, func(o overlap) bool {
		return slices.ContainsFunc(o.Bars, func(b bar) bool { return b.Y == y-barHalf && b.X <= x && x < b.X+b.Width })
	})
}

// addTicks writes the time below the timelines, as often as there is room, and where events were left out.
func (c *canvas) addTicks() {
	next, last := 0, ""
	for _, at := range c.columns {
		if at.before > 0 {
			c.Breaks = append(c.Breaks, tick{at.x - at.before/2, number(at.missing, "event")})
		}
		text := milliseconds(at.At - c.began)
		if at.x >= next && text != last {
			c.Ticks = append(c.Ticks, tick{at.x, text})
			next, last = at.x+wide(text)+20, text
		}
	}
}

// addTimelines gives each timeline its height: clients above the servers.
func (c *canvas) addTimelines(events []history.Event) {
	c.Bottom = headRoom + headRow*len(c.rows)
	for _, name := range timelines(events) {
		c.heights[name] = c.Bottom + timelineHeight/2
		c.Timelines = append(c.Timelines, timeline{name, short(name, longName), c.heights[name]})
		c.Names.Width = max(c.Names.Width, wide(short(name, longName))*9/letter+24)
		c.Bottom += timelineHeight
	}
	c.Height = c.Bottom + axisRoom
	c.Names.Height = c.Height
	for i := range c.Faults {
		c.Faults[i].Height = c.Bottom
	}
}

const longName = 14

func wide(text string) int { return letter * len([]rune(text)) }

// acts are the kinds of events that only a client has.
var acts = []history.Kind{history.Request, history.Grant, history.Release, history.Read, history.Write, history.Win, history.Command}

// timelines returns the names of the timelines of events: first those of clients, sorted, then the others.
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
	return append(clients, others...)
}

// numerically compares names: driver 2 comes before driver 10.
func numerically(a, b string) int {
	stem := func(name string) string { return strings.TrimRight(name, "0123456789") }
	return cmp.Or(strings.Compare(stem(a), stem(b)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
