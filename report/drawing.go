package report

import (
	"slices"

	"locklab/experiments/history"
)

// The measures of a drawing, in pixels.
const (
	laneHeight = 66
	barHalf    = 11
	headRoom   = 10
	headRow    = 20
	axisRoom   = 30
	letter     = 7 // about as wide as one is
)

// drawing is the picture of a trial: a lane for each client and node, time to the right.
type drawing struct {
	Width, Height int
	Names         names
	Lanes         []lane
	Faults        []band
	Waits, Bars   []bar
	Overlaps      []overlap
	Marks         []mark
	Ticks         []tick
	Breaks        []tick
	Legend        []shape
	Said          string // of all overlaps, for who cannot see them
	Left          string // what is not drawn
	Bottom        int    // of the lanes

	Harmed, Believed, Shown bool // what the legend must explain
}

type names struct{ Width, Height int }

type lane struct {
	Name, Short string
	Y           int
}

// bar is a stretch of a lane: a hold, or the wait for one.
type bar struct {
	X, Y, Width, Height int
	Open                bool // nothing says that it ended
}

// band is a fault: it lies over all lanes, from its beginning to its end.
type band struct {
	X, Width, Height, LabelX, LabelY int
	Text                             string
}

// mark is an event.
type mark struct {
	X, Y           int
	Shape          string
	Label          string
	LabelX, LabelY int
	Anchor         string
	Shows          bool // it belongs to the breach
	Says           string
}

type tick struct {
	X    int
	Text string
}

// canvas is a drawing in the making.
type canvas struct {
	*drawing
	columns []column
	lanes   map[string]int // by name: its height
	grants  map[int]bool   // the numbers of the events with which a hold begins
	rows    []int          // of what is written above the lanes: where each ends
}

// draw draws the events of a trial, or those around its breach.
func draw(events []history.Event, found *history.Finding) *drawing {
	shown, left := thin(events, found)
	c := &canvas{drawing: &drawing{Left: left}, lanes: make(map[string]int), grants: make(map[int]bool)}
	for _, e := range events {
		c.grants[e.Seq] = e.Kind == history.Grant
	}
	c.columns, c.Width = arrange(shown)
	c.addFaults(events)
	holds := history.Holds(events)
	together := c.overlaps(holds, found)
	c.addLanes(shown)
	c.addBars(holds)
	c.addOverlaps(together)
	c.addMarks(found)
	c.addTicks()
	return c.drawing
}

// addLanes gives each lane its height, in the order of appearance: who asks and works above what is asked.
func (c *canvas) addLanes(events []history.Event) {
	c.Bottom = headRoom + headRow*len(c.rows)
	for _, name := range laneNames(events) {
		c.lanes[name] = c.Bottom + laneHeight/2
		c.Lanes = append(c.Lanes, lane{name, short(name, longName), c.lanes[name]})
		c.Names.Width = max(c.Names.Width, wide(short(name, longName))+24)
		c.Bottom += laneHeight
	}
	c.Height = c.Bottom + axisRoom
	c.Names.Height = c.Height
	for i := range c.Faults {
		c.Faults[i].Height = c.Bottom
	}
}

// longName is how many letters of a lane's name are shown beside it.
const longName = 14

func wide(text string) int { return letter * len([]rune(text)) }

// acts are the kinds of events that only a client has.
var acts = []history.Kind{history.Ask, history.Grant, history.Give, history.Read, history.Write, history.Win, history.Command}

func laneNames(events []history.Event) []string {
	var clients, others []string
	for _, e := range events {
		if slices.Contains(acts, e.Kind) && !slices.Contains(clients, e.Lane) {
			clients = append(clients, e.Lane)
		}
	}
	for _, e := range events {
		if !slices.Contains(clients, e.Lane) && !slices.Contains(others, e.Lane) {
			others = append(others, e.Lane)
		}
	}
	return append(clients, others...)
}

// addFaults lays a band from each fault to the healing of the same lane.
func (c *canvas) addFaults(events []history.Event) {
	for i, e := range events {
		if e.Kind != history.Fault {
			continue
		}
		from, to := c.at(e.Seq), c.Width
		if healed := slices.IndexFunc(events[i:], func(h history.Event) bool { return h.Kind == history.Heal && h.Lane == e.Lane }); healed >= 0 {
			to = c.at(events[i+healed].Seq)
		}
		text := short("✗ "+e.Lane+": "+e.Text, 60)
		c.Faults = append(c.Faults, band{X: from, Width: max(6, to-from), LabelX: from + 6, LabelY: c.heading(from+6, text), Text: text})
	}
}

// heading finds a row for a text above all lanes.
func (c *canvas) heading(x int, text string) (y int) {
	row := slices.IndexFunc(c.rows, func(end int) bool { return end < x })
	if row < 0 {
		row, c.rows = len(c.rows), append(c.rows, 0)
	}
	c.rows[row] = x + wide(text) + 16
	c.Width = max(c.Width, c.rows[row])
	return headRoom + row*headRow + 12
}

// addBars draws the holds, and before each the wait for it.
func (c *canvas) addBars(holds []history.Hold) {
	for _, h := range holds {
		y, known := c.lanes[h.Lane]
		if !known {
			continue
		}
		asked, from, to := c.hold(h)
		if to <= 0 || from >= c.Width {
			continue // it lies outside of what is drawn
		}
		if asked < from {
			c.Waits = append(c.Waits, bar{X: asked, Y: y - 3, Width: from - asked, Height: 6})
		}
		c.Bars = append(c.Bars, bar{X: from, Y: y - barHalf, Width: max(4, to-from), Height: 2 * barHalf, Open: h.Open})
	}
}

// hold returns where a hold was asked for, begins and ends.
func (c *canvas) hold(h history.Hold) (asked, from, to int) {
	granted := slices.IndexFunc(h.Seqs, func(seq int) bool { return c.grants[seq] })
	asked, from, to = c.at(h.Seqs[0]), c.at(h.Seqs[granted]), c.Width
	if !h.Open {
		to = c.at(h.Seqs[granted+1])
	}
	return asked, from, to
}

// addMarks draws the events themselves.
func (c *canvas) addMarks(found *history.Finding) {
	used := make(map[string]bool)
	for _, at := range c.columns {
		y := c.lanes[at.Lane]
		m := mark{
			X: at.x, Y: y, Shape: shapeOf(at.Kind).ID, Label: at.label, LabelX: at.x, Anchor: "middle",
			Shows: found != nil && slices.Contains(found.Events, at.Seq), Says: describe(at.Event, c.columns[0].At),
		}
		switch at.row {
		case inside:
			m.LabelX, m.LabelY, m.Anchor = at.x+9, y+4, "start"
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

// addTicks writes the time below, as often as there is room, and where events were left out.
func (c *canvas) addTicks() {
	next := 0
	for i, at := range c.columns {
		if at.missing > 0 {
			c.Breaks = append(c.Breaks, tick{at.x - at.before/2, number(at.missing, "event")})
		}
		if at.x < next || i > 0 && at.At == c.columns[i-1].At {
			continue
		}
		text := milliseconds(at.At - c.columns[0].At)
		c.Ticks = append(c.Ticks, tick{at.x, text})
		next = at.x + wide(text) + 20
	}
}
