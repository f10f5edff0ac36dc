// Package drawing draws the events of a trial: a timeline for each client and server, in a page or as a picture that stands alone. It
// imports nothing of the lab but package history, so that a browser can draw, too (lab/live/steps).
package drawing

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"locklab/lab/history"
)

// The measures of a drawing, in pixels.
const (
	timelineHeight = 66 // and a line for each further line of a label
	lineHeight     = 14
	barHalf        = 11
	headRoom       = 10
	headRow        = 20
	axisRoom       = 30
	letter         = 7 // about as wide as one is
)

// Drawing is the picture of a trial: a timeline for each client and node, time to the right. A wide drawing continues in rows below.
type Drawing struct {
	From, Width, Height int // of a row: its part of the time
	Rows                []Drawing
	Names               names
	Timelines           []timeline
	Faults              []band
	Waits, Bars         []bar
	Ends                []caption // of locks: there another client is granted it
	Overlaps            []overlap
	Marks               []mark
	Ticks               []tick
	Breaks              []tick
	Keys                []key  // the legend
	Said                string // all overlaps, for a screen reader
	Left                string // what is not drawn
	Circled             string // which events of the violation are marked, where they are many
	Bottom              int    // of the timelines
	Still               bool   // it is a picture: no event of it can be pointed at
	Y                   int    // of a row, in a picture
	Later               int    // x from which on nothing is drawn yet; 0: everything is drawn
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
	Name  string
	Class string    // with the colour of a client
	Lines []caption // the name, beside the timeline
	Y     int
}

// bar is a part of a timeline: a time in which a client holds the lock, or waits for it.
type bar struct {
	X, Y, Width, Height int
	Past                bool   // another client has been granted the lock
	Class               string // with the colour of the holder
}

// caption is a line of text at its position.
type caption struct {
	X, Y int
	Text string
}

// band is a fault: it covers all timelines, from its beginning to its end.
type band struct {
	X, Width, Height int
	Lines            []caption
	Edge             bool // it begins here
}

type mark struct {
	X, Y    int
	Shape   string
	Label   []caption
	Begins  bool // the label begins at its x, and is not centred there
	Shows   bool // it is an event of the violation
	Hatched bool // its label is in an overlap
	Newest  bool // nothing has happened after it yet
	Says    string
}

type tick struct {
	X    int
	Text string
}

type canvas struct {
	*Drawing
	Format
	begins  []int // x of the rows
	holds   []history.Holder
	shown   []int // numbers of the events that show the violation
	columns []column
	heights map[string]int // y of each timeline, by name
	grants  map[int]bool   // numbers of the events that are grants
	taken   int            // how many of the rows are for faults
	rows    []int          // of texts above the timelines: where each ends
}

// Format bounds a drawing.
type Format struct {
	room   int // of a row, in pixels
	events int
	grows  bool // more events will come, so that nothing is said yet of the effect of several holders
	until  int  // number of the event that is the last so far; 0: all have happened
}

// The formats. A report has the whole screen, a picture the column of a page. The live page enlarges its drawings, so that a projector
// shows no small text. The report of a lab has more than a hundred drawings.
var (
	InReport = Format{room: 1180, events: 80}
	inPage   = Format{room: 860, events: 40}
	Live     = Format{room: 830, events: 80}
	InLab    = Format{room: 1180, events: 20}
)

// parsed is never executed: only then can it be cloned.
var (
	parsed    = template.Must(template.ParseFS(files, "*.tmpl"))
	templates = Templates()
)

// Templates returns the template of a drawing, "drawing", and what it refers to: "patterns", and "shapes" with [Shapes].
func Templates() *template.Template { return template.Must(parsed.Clone()) }

//go:embed *.tmpl
var files embed.FS

// Style is the style of a drawing. It needs the [Colours].
//
//go:embed drawing.css
var Style string

// Write writes the drawing as a part of a page; without one it writes nothing.
func (d *Drawing) Write(w io.Writer) error {
	if d == nil {
		return nil
	}
	return templates.ExecuteTemplate(w, "drawing", d)
}

// Unfinished draws a trial to which more events may come; with a violation, none will.
func Unfinished(events []history.Event, found *history.Violation) *Drawing {
	f := Live
	f.events, f.grows = inPage.events, found == nil
	return Draw(events, found, f)
}

// After draws a trial after its first events, with the places of all.
func After(events []history.Event, after int, found *history.Violation) *Drawing {
	f := Live
	if after < len(events) {
		f.until, f.grows = events[after-1].Seq, true
	}
	return Draw(events, found, f)
}

// Draw draws the events of a trial, or those around its violation. Measurements have a chart of their own.
func Draw(events []history.Event, found *history.Violation, f Format) *Drawing {
	if c := paint(events, found, f); c != nil {
		return c.Drawing
	}
	return nil
}

func newCanvas(events []history.Event, f Format) *canvas {
	c := &canvas{Drawing: new(Drawing), Format: f, heights: make(map[string]int), grants: make(map[int]bool)}
	for _, e := range events {
		c.grants[e.Seq] = e.Kind == history.Grant
	}
	return c
}

// paint is Draw with what the drawing was made of.
func paint(events []history.Event, found *history.Violation, f Format) *canvas {
	measure := func(e history.Event) bool { return e.Kind == history.Measure }
	real := events
	events = history.Relative(events)
	timed := slices.DeleteFunc(slices.Clone(events), measure)
	circled, all := circles(timed, found)
	shown, left := thin(timed, circled, f.events)
	if len(shown) == 0 {
		return nil
	}
	if f.grows { // a violation is known at the end
		found, circled, all = nil, nil, 0
	}
	c := newCanvas(events, f)
	c.Left, c.shown = left, circled
	names := c.addNames(shown)
	c.columns, c.begins, c.Width = layout(shown, history.KeyNames(events), c.room)
	c.addFaults(events)
	c.taken = len(c.rows)
	c.holds = history.Holders(events)
	overlaps := c.overlaps(c.holds, found)
	c.addTimelines(names)
	c.addBars(c.holds)
	c.addOverlaps(overlaps)
	c.addMarks(circled)
	if len(circled) < all {
		c.Circled = fmt.Sprintf(": the first %d and the last %d of %d events are marked", mostCircles/2, mostCircles/2, all)
	}
	c.addTicks()
	c.hideAfter(f.until)
	c.addKeys(!slices.EqualFunc(real, events, func(a, b history.Event) bool { return a.Token == b.Token }))
	c.addRows()
	return c
}

// addNames makes room for the names of the timelines, and returns them.
func (c *canvas) addNames(shown []history.Event) (names []string) {
	names = timelines(shown)
	for _, name := range names {
		c.Names.Width = max(c.Names.Width, widest(lines(name, longName))*9/letter+24)
	}
	c.room -= c.Names.Width
	return names
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
		text := lines("✗ "+e.Timeline+": "+e.Text, longFault)
		for row, begins := range c.begins {
			if part := max(from, begins); part < c.ends(row) && begins <= max(to, from+6) {
				c.Faults = append(c.Faults, band{
					X: part, Width: max(6, min(to, c.ends(row))-part), Lines: c.heading(part+6, text), Edge: part == from,
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

// heading finds a place for lines above all timelines: at x, or further left where their row of the drawing ends before them.
func (c *canvas) heading(x int, text []string) (all []caption) {
	const margin = 6
	row := max(0, sort.SearchInts(c.begins, x+1)-1)
	end := c.ends(row)
	if row+1 == len(c.begins) {
		end = c.begins[row] + c.room
	}
	x = max(c.begins[row]+margin, min(x, end-widest(text)-margin))
	line := c.taken
	for i := line; i < len(c.rows); i++ {
		if c.rows[i] >= x {
			line = i + 1 // the lines stand below each other, and nothing is between them
		}
	}
	for i, part := range text {
		if line+i == len(c.rows) {
			c.rows = append(c.rows, 0)
		}
		c.rows[line+i] = x + widest(text) + 16
		all = append(all, caption{x, headRoom + (line+i)*headRow + 12, part})
	}
	if row+1 == len(c.begins) {
		c.Width = max(c.Width, min(c.rows[line], end))
	}
	return all
}

// mostCircles is how many events of a violation have a circle: where every load of forty has one, none stands out.
const mostCircles = 6

// circles are the numbers of the events that show a violation: of many the first and the last. all is how many there are.
func circles(events []history.Event, found *history.Violation) (circled []int, all int) {
	for _, e := range events {
		if found != nil && slices.Contains(found.Events, e.Seq) {
			circled = append(circled, e.Seq)
		}
	}
	all = len(circled)
	if all > mostCircles {
		circled = slices.Concat(circled[:mostCircles/2], circled[all-mostCircles/2:])
	}
	return circled, all
}

func (c *canvas) addMarks(circled []int) {
	for _, at := range c.columns {
		y, drawn := c.heights[at.Timeline]
		if !drawn { // it is a moment
			continue
		}
		m := mark{X: at.x, Y: y, Shape: shapeOf(at.Kind).ID, Shows: slices.Contains(circled, at.Seq), Says: describe(at.Event)}
		x, first := at.x, y
		switch at.row {
		case inside:
			x, first, m.Begins = at.x+9, y+4, true
			m.Hatched = c.hatched(at.x, y)
		case above:
			first = y - barHalf - 7 - (len(at.label)-1)*lineHeight
		case below:
			first = y + barHalf + 16
		}
		for i, line := range at.label {
			m.Label = append(m.Label, caption{x, first + i*lineHeight, line})
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
	add(len(c.Ends) > 0, key{Class: "hold past", Text: "works on: its lease is over, or another client has the lock"})
	add(len(c.Waits) > 0, key{Class: "wait", Text: "waits for it"})
	add(slices.ContainsFunc(c.Overlaps, harm), key{Class: "overlap", Text: "several holders, with an effect"})
	text := "several holders, without an effect"
	if c.grows {
		text = "several holders"
	}
	add(slices.ContainsFunc(c.Overlaps, belief), key{Class: "belief", Text: text})
	for _, s := range Shapes {
		unlabelled := func(m mark) bool { return m.Shape == s.ID && m.Label == nil }
		add(slices.ContainsFunc(c.Marks, unlabelled), key{Shape: s.ID, Text: s.Says})
	}
	add(slices.ContainsFunc(c.Marks, func(m mark) bool { return m.Shows }), key{Class: "shows", Text: "shows the violation" + c.Circled})
	add(shortTokens, key{Text: "tokens are counted here; the saved run has the real ones"})
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
			c.Breaks = append(c.Breaks, tick{at.x - at.before/2, Count(at.missing, "event")})
		}
		text := Milliseconds(at.At)
		if at.x >= next && text != last {
			c.Ticks = append(c.Ticks, tick{at.x, text})
			next, last = at.x+wide(text)+20, text
		}
	}
}

// addTimelines gives each timeline its height: clients above the servers.
func (c *canvas) addTimelines(names []string) {
	c.Bottom = headRoom + headRow*len(c.rows)
	for _, name := range names {
		y := c.Bottom + timelineHeight/2 + c.further(name, above)
		c.heights[name] = y
		t := timeline{Name: name, Y: y, Class: ClassOf(name)}
		for i, line := range lines(name, longName) {
			t.Lines = append(t.Lines, caption{12, y + 4 + i*lineHeight, line})
		}
		c.Timelines = append(c.Timelines, t)
		c.Bottom = y + timelineHeight/2 + c.further(name, below)
	}
	c.Height = c.Bottom + axisRoom
	c.Names.Height = c.Height
	for i := range c.Faults {
		c.Faults[i].Height = c.Bottom
	}
}

// ClassOf is the class of what belongs to the client of a timeline. The live page gives the clients A, B and C their colours; a report has
// none of these.
func ClassOf(timeline string) string {
	if len(timeline) != 1 {
		return ""
	}
	return "client-" + strings.ToLower(timeline)
}

// further is the height that the further lines of the labels of a timeline need.
func (c *canvas) further(timeline string, row int) (height int) {
	for _, at := range c.columns {
		if at.Timeline == timeline && at.row == row {
			height = max(height, (len(at.label)-1)*lineHeight)
		}
	}
	return height
}

// addRows cuts the drawing where its rows begin. A bar or a band is in each row that it crosses.
func (c *canvas) addRows() {
	for i, from := range c.begins {
		to := c.ends(i)
		within := func(x, width int) bool { return x < to && x+width > from }
		row := *c.Drawing
		row.From, row.Width, row.Rows = from, to-from, nil
		row.Faults = only(c.Faults, func(b band) bool { return within(b.X, b.Width) })
		row.Waits = only(c.Waits, func(b bar) bool { return within(b.X, b.Width) })
		row.Bars = only(c.Bars, func(b bar) bool { return within(b.X, b.Width) })
		row.Ends = only(c.Ends, func(t caption) bool { return within(t.X, 1) })
		row.Overlaps = only(c.Overlaps, func(o overlap) bool { return within(o.X, o.Width) })
		row.Marks = only(c.Marks, func(m mark) bool { return within(m.X, 1) })
		row.Breaks = only(c.Breaks, func(t tick) bool { return within(t.X, 1) })
		row.Ticks = only(c.Ticks, func(t tick) bool { return within(t.X, 1) })
		if row.Later > 0 {
			row.Later = max(row.Later, from)
		}
		c.Rows = append(c.Rows, row)
	}
}

// hideAfter leaves out what happens after an event; 0: nothing. Its place stays empty, so that a drawing in which more and more happens
// does not move.
func (c *canvas) hideAfter(seq int) {
	if seq == 0 {
		return
	}
	last := c.at(seq)
	c.Later = last + step*2/3 // behind its sign, and before the next one
	c.Faults = only(c.Faults, func(b band) bool { return b.X <= last })
	c.Waits = only(c.Waits, func(b bar) bool { return b.X <= last })
	c.Bars = only(c.Bars, func(b bar) bool { return b.X <= last })
	c.Ends = only(c.Ends, func(t caption) bool { return t.X <= last })
	c.Overlaps = only(c.Overlaps, func(o overlap) bool { return o.X <= last })
	c.Marks = only(c.Marks, func(m mark) bool { return m.X <= last })
	if newest := len(c.Marks) - 1; newest >= 0 {
		c.Marks[newest].Newest = true
	}
	c.Breaks = only(c.Breaks, func(t tick) bool { return t.X <= last })
	c.Ticks = only(c.Ticks, func(t tick) bool { return t.X <= last })
}

func only[T any](all []T, wanted func(T) bool) (some []T) {
	for _, one := range all {
		if wanted(one) {
			some = append(some, one)
		}
	}
	return some
}

// The longest line of a timeline's name, of a fault and of a label, in letters.
const (
	longName  = 14
	longFault = 60
	longLabel = 24
)

func wide(text string) int { return letter * len([]rune(text)) }

// widest is the width of the longest line.
func widest(lines []string) (width int) {
	for _, line := range lines {
		width = max(width, wide(line))
	}
	return width
}

// Count is a number of things.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Milliseconds is a duration for a label.
func Milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }

// lines breaks a text for a drawing: nothing of it is cut.
func lines(text string, width int) []string {
	return history.Wrap(strings.Join(strings.Fields(text), " "), width)
}
