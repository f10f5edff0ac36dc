package report

import (
	"cmp"
	"slices"
	"sort"
	"strings"

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

// drawing is the picture of a trial: a timeline for each client and node, time to the right. What is wider than a page continues in
// rows below.
type drawing struct {
	From, Width, Height int // of a row: its part of the time
	Rows                []drawing
	Names               names
	Timelines           []timeline
	Faults              []band
	Waits, Bars         []bar
	Overlaps            []overlap
	Marks               []mark
	Ticks               []tick
	Breaks              []tick
	Keys                []key  // the legend
	Said                string // all overlaps, for a screen reader
	Left                string // what is not drawn
	Bottom              int    // of the timelines
	Y                   int    // of a row, in a picture
	Still               bool   // it is a picture: no event of it can be pointed at
}

// key is an entry of the legend.
type key struct {
	Class string // of a bar
	Shape string // of an event
	Text  string

	X, Y, Width int // in a picture
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
	Edge                             bool // it begins here
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
	room    int   // of a row
	begins  []int // x of the rows
	columns []column
	heights map[string]int // y of each timeline, by name
	grants  map[int]bool   // numbers of the events that are grants
	taken   int            // how many of the rows are for faults
	rows    []int          // of texts above the timelines: where each ends
}

// format bounds a drawing.
type format struct {
	room   int // of a row, in pixels
	events int
}

// A report has the whole screen, a picture the column of a page.
var (
	inReport = format{room: 1180, events: 80}
	inPage   = format{room: 860, events: 40}
)

// draw draws the events of a trial, or those around its violation. Measurements have a chart of their own.
func draw(events []history.Event, found *history.Violation, f format) *drawing {
	measure := func(e history.Event) bool { return e.Kind == history.Measure }
	real := events
	events = history.Relative(events)
	shown, left := thin(slices.DeleteFunc(slices.Clone(events), measure), found, f.events)
	if len(shown) == 0 {
		return nil
	}
	c := &canvas{drawing: &drawing{Left: left}, room: f.room, heights: make(map[string]int), grants: make(map[int]bool)}
	for _, e := range events {
		c.grants[e.Seq] = e.Kind == history.Grant
	}
	for _, name := range timelines(shown) {
		c.Names.Width = max(c.Names.Width, wide(short(name, longName))*9/letter+24)
	}
	c.room -= c.Names.Width
	c.columns, c.begins, c.Width = layout(shown, c.room)
	c.addFaults(events)
	c.taken = len(c.rows)
	holds := history.Holders(events)
	overlaps := c.overlaps(holds, found)
	c.addTimelines(shown)
	c.addBars(holds)
	c.addOverlaps(overlaps)
	c.addMarks(found)
	c.addTicks()
	c.addKeys(!slices.EqualFunc(real, events, func(a, b history.Event) bool { return a.Token == b.Token }))
	c.addRows()
	return c.drawing
}

// addFaults lays a band from each fault to its end on the same timeline. In a row below it says again what it is.
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
		for row, begins := range c.begins {
			if part := max(from, begins); part < c.ends(row) && begins <= max(to, from+6) {
				label, y := c.heading(part+6, text)
				c.Faults = append(c.Faults, band{
					X: part, Width: max(6, min(to, c.ends(row))-part), LabelX: label, LabelY: y, Text: text, Edge: part == from,
				})
			}
		}
	}
}

// ends is where a row ends.
func (c *canvas) ends(row int) int {
	if row+1 < len(c.begins) {
		return c.begins[row+1]
	}
	return c.Width
}

// heading finds a place for a text above all timelines: at x, or further left where its row of the drawing ends before it.
func (c *canvas) heading(x int, text string) (at, y int) {
	const margin = 6
	row := max(0, sort.SearchInts(c.begins, x+1)-1)
	end := c.ends(row)
	if row+1 == len(c.begins) {
		end = c.begins[row] + c.room
	}
	x = max(c.begins[row]+margin, min(x, end-wide(text)-margin))
	line := c.taken
	for line < len(c.rows) && c.rows[line] >= x {
		line++
	}
	if line == len(c.rows) {
		c.rows = append(c.rows, 0)
	}
	c.rows[line] = x + wide(text) + 16
	if row+1 == len(c.begins) {
		c.Width = max(c.Width, min(c.rows[line], end))
	}
	return x, headRoom + line*headRow + 12
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
	for _, at := range c.columns {
		y := c.heights[at.Timeline]
		m := mark{
			X: at.x, Y: y, Shape: shapeOf(at.Kind).ID, Label: at.label, LabelX: at.x, Anchor: "middle",
			Shows: found != nil && slices.Contains(found.Events, at.Seq), Says: describe(at.Event),
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
		c.Marks = append(c.Marks, m)
	}
}

// addKeys explains what is drawn and not labelled.
func (c *canvas) addKeys(shortTokens bool) {
	harm := func(o overlap) bool { return o.Harm }
	belief := func(o overlap) bool { return !o.Harm }
	add := func(used bool, k key) {
		if used {
			c.Keys = append(c.Keys, k)
		}
	}
	add(len(c.Bars) > 0, key{Class: "hold", Text: "holds the lock"})
	add(len(c.Waits) > 0, key{Class: "wait", Text: "waits for it"})
	add(slices.ContainsFunc(c.Overlaps, harm), key{Class: "overlap", Text: "several hold it, and it had an effect"})
	add(slices.ContainsFunc(c.Overlaps, belief), key{Class: "belief", Text: "several believe they hold it, without an effect"})
	for _, s := range shapes {
		unlabelled := func(m mark) bool { return m.Shape == s.ID && m.Label == "" }
		add(slices.ContainsFunc(c.Marks, unlabelled), key{Shape: s.ID, Text: s.Says})
	}
	add(slices.ContainsFunc(c.Marks, func(m mark) bool { return m.Shows }), key{Class: "shows", Text: "shows the violation"})
	add(shortTokens, key{Text: "tokens are counted here; the real ones are in the evidence"})
	add(true, key{Text: "time in ms, stretched where there are many events"})
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
		text := milliseconds(at.At)
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
		c.Bottom += timelineHeight
	}
	c.Height = c.Bottom + axisRoom
	c.Names.Height = c.Height
	for i := range c.Faults {
		c.Faults[i].Height = c.Bottom
	}
}

// addRows cuts the drawing where its rows begin. What lasts is in each row in which it does.
func (c *canvas) addRows() {
	for i, from := range c.begins {
		to := c.ends(i)
		within := func(x, width int) bool { return x < to && x+width > from }
		row := *c.drawing
		row.From, row.Width, row.Rows = from, to-from, nil
		row.Faults = only(c.Faults, func(b band) bool { return within(b.X, b.Width) })
		row.Waits = only(c.Waits, func(b bar) bool { return within(b.X, b.Width) })
		row.Bars = only(c.Bars, func(b bar) bool { return within(b.X, b.Width) })
		row.Overlaps = only(c.Overlaps, func(o overlap) bool { return within(o.X, o.Width) })
		row.Marks = only(c.Marks, func(m mark) bool { return within(m.X, 1) })
		row.Breaks = only(c.Breaks, func(t tick) bool { return within(t.X, 1) })
		row.Ticks = only(c.Ticks, func(t tick) bool { return within(t.X, 1) })
		c.Rows = append(c.Rows, row)
	}
}

func only[T any](all []T, wanted func(T) bool) (some []T) {
	for _, one := range all {
		if wanted(one) {
			some = append(some, one)
		}
	}
	return some
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
