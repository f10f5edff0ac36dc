package html

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/report/outcome"
)

// inScene is for a projector: one row, which is scaled to the screen, with the events that a person needs to follow the story.
var inScene = format{room: 1 << 20, events: 32, scene: true}

// scene is a trial as the story shows it. A wide screen shows a drawing with the time to the right. A narrow one shows a table whose time
// runs down, and a screen reader reads it.
type scene struct {
	Drawing *drawing
	Views   *viewsDrawing
	Down    down
}

// Scene writes a trial as the story shows it. With tokens each grant has its fencing token. Without a violation more events may come.
func Scene(w io.Writer, events []history.Event, found *history.Violation, tokens bool) error {
	if len(events) == 0 {
		return nil
	}
	if all := smallBurst(events); all != nil {
		d := drawViews(all)
		return pages.ExecuteTemplate(w, "scene", scene{Views: d, Down: d.down(all)})
	}
	f := inScene
	f.grows, f.tokens = found == nil, tokens
	c := paint(events, found, f)
	if c == nil {
		return nil
	}
	return pages.ExecuteTemplate(w, "scene", scene{Drawing: c.drawing, Down: c.down()})
}

// SceneVariant is what a variant of a scene showed.
type SceneVariant struct {
	lab.VariantJudgement
	events []history.Event
	tokens bool
}

// SceneVariants are those of a run: first the one with a violation, and the control last. tokens is for [Scene].
func SceneVariants(run lab.Saved, tokens bool) (all []SceneVariant) {
	for _, v := range run.Judgement.Variants {
		trial, _ := run.Record.Telling(v)
		all = append(all, SceneVariant{v, history.Of(run.Record.Events, v.Name, trial), tokens})
	}
	if len(all) > 1 {
		all = slices.Concat(all[1:], all[:1])
	}
	return all
}

// Outcome is what it showed. Of a burst it is how many views are lost.
func (v SceneVariant) Outcome() outcome.Outcome {
	if v.Trials == 0 {
		return outcome.Whole(v.Verdict)
	}
	return outcome.Of(v.seen(), v.Violation != nil, v.Verdict)
}

// seen is its violation in a few words.
func (v SceneVariant) seen() string {
	writes, final := 0, int64(0)
	for _, e := range v.events {
		switch e.Kind {
		case history.Write:
			writes++
		case history.Final:
			final = e.Value
		}
	}
	switch {
	case v.Violation == nil:
		return "no violation"
	case smallBurst(v.events) == nil:
		return v.Violation.What
	}
	return fmt.Sprintf("the counter shows %d: %s lost", final, number(writes-int(final), "view"))
}

// Draw writes it.
func (v SceneVariant) Draw(w io.Writer) error { return Scene(w, v.events, v.Violation, v.tokens) }

// Whole is the width of a drawing in one row, with its names.
func (d drawing) Whole() int { return d.Names.Width + d.Width }

// essential are the events of clients without their commands, and the events of everything else. The command of a release is part of it.
// Nothing is left after the last event of a violation. With tokens a grant has its own, and a refusal the two that were compared.
func essential(events []history.Event, found *history.Violation, tokens bool) (all []history.Event) {
	last := len(events)
	if found != nil {
		for i, e := range events {
			if slices.Contains(found.Events, e.Seq) {
				last = i + 1
			}
		}
	}
	releases := make(map[string]int) // of a timeline: where its release stands in all
	newest := uint64(0)              // token that the resource has seen
	for _, e := range events[:last] {
		switch e.Kind {
		case history.Read, history.Write:
			newest = max(newest, e.Token)
		case history.Grant:
			if tokens && e.Token > 0 {
				e.Text = fmt.Sprintf("holds, token %d", e.Token)
			}
		case history.Stale:
			if tokens && e.Token < newest {
				e.Text = fmt.Sprintf("refused: token %d < %d", e.Token, newest)
			}
		case history.Command:
			if at, is := releases[e.Timeline]; is && all[at].Text == "" {
				all[at].Text = e.Text
			}
			continue
		case history.Released, history.Final, history.Measure:
			delete(releases, e.Timeline)
			continue
		case history.Release:
			releases[e.Timeline] = len(all)
		}
		e.Token = 0 // its text has it
		all = append(all, e)
	}
	return all
}

// actors are the clients of a scene. Everything else happens to all of them.
func actors(events []history.Event) (names []string) {
	for _, e := range events {
		if slices.Contains(acts, e.Kind) && !slices.Contains(names, e.Timeline) {
			names = append(names, e.Timeline)
		}
	}
	slices.SortFunc(names, numerically)
	return names
}

// addMoments writes what stands on the timeline of no client above the others.
func (c *canvas) addMoments() {
	for _, at := range c.columns {
		if at.Kind == history.Fault || at.Kind == history.Heal || slices.Contains(c.clients, at.Timeline) || len(at.label) == 0 {
			continue
		}
		c.Moments = append(c.Moments, moment{at.x, c.heading(at.x+6, lines(momentText(at.Event), longMoment))})
	}
}

// moment is what happens to all.
type moment struct {
	X     int
	Lines []caption
}

const longMoment = 42

// momentText is what a moment says.
func momentText(e history.Event) string {
	switch e.Kind {
	case history.Fault:
		return "✗ " + e.Timeline + ": " + e.Text
	case history.Heal:
		return "✓ " + e.Timeline + ": " + e.Text
	case history.Note:
		return e.Timeline + " " + e.Text
	}
	return e.Timeline + ": " + e.Summary()
}

// down is a table: a column for each client, and a row for each event.
type down struct {
	Names []string
	Rows  []downRow
}

// downRow is an event. A moment stands in all columns.
type downRow struct {
	Moment string
	Shows  bool
	Cells  []downCell
}

// downCell is what a client does, and how it has the lock meanwhile.
type downCell struct{ Text, Class string }

// Says is how the client has the lock, for a screen reader.
func (c downCell) Says() string {
	return map[string]string{"holds": "holds the lock", "past": "works on without the lock", "waits": "waits for the lock"}[c.Class]
}

// down lists the events of a drawing.
func (c *canvas) down() down {
	d := down{Names: c.clients}
	for _, at := range c.columns {
		row := downRow{Shows: slices.Contains(c.shown, at.Seq)}
		if !slices.Contains(c.clients, at.Timeline) || at.Kind == history.Fault || at.Kind == history.Heal {
			row.Moment = momentText(at.Event)
		}
		for _, name := range c.clients {
			cell := downCell{Class: c.lockOf(name, at.x)}
			if name == at.Timeline && row.Moment == "" {
				cell.Text = sceneText(at.Event)
			}
			row.Cells = append(row.Cells, cell)
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

// sceneText is what a client does, in a few words.
func sceneText(e history.Event) string {
	if e.Kind == history.Request {
		return "requests"
	}
	text, _ := label(e)
	return text
}

// lockOf is how a client has the lock at x: it holds it, works on without it, waits for it, or nothing of these.
func (c *canvas) lockOf(name string, x int) string {
	for _, h := range c.holds {
		asked, from, to := c.hold(h)
		switch {
		case h.Timeline != name || x < asked || x > to:
		case x < from:
			return "waits"
		case x > c.over(h):
			return "past"
		default:
			return "holds"
		}
	}
	return ""
}

// viewsDrawing has a bar for each view of a small burst, below the instance that counted it. A bar says what it read and wrote.
type viewsDrawing struct {
	Width, Height int
	Columns       []viewsColumn
	Twice         int // views that wrote a number which another one had written
	All           int
}

// viewsColumn are the views of an instance.
type viewsColumn struct {
	Name string
	X, Y int
	Bars []viewBar
}

// viewBar is a view, from the moment at which it was sent to its answer.
type viewBar struct {
	bar
	view
}

// view is a view that was answered.
type view struct {
	Instance string
	Value    int64 // that it wrote
	Sent, At time.Duration
	Twice    bool // an earlier answer has the same number
}

// Text is what it did. The counter of a view is what it has read, plus one.
func (v view) Text() string { return fmt.Sprintf("read %d, wrote %d", v.Value-1, v.Value) }

// Measures of the drawing of views.
const (
	viewsWidth  = 820
	viewsRow    = 21
	viewsHead   = 24
	viewsGap    = 40
	leastBar    = 150 // for its text
	fewestViews = 12
	mostViews   = 40
)

// smallBurst are the views of a burst that are few enough to be drawn, sorted by their numbers; nil: there is none.
func smallBurst(events []history.Event) (all []view) {
	sent, written := make(map[string]time.Duration), make(map[int64]bool)
	for _, e := range events {
		switch {
		case e.Kind == history.Request:
			sent[e.Owner] = e.At
		case e.Kind == history.Write && strings.HasPrefix(e.Owner, "request "):
			all = append(all, view{e.Timeline, e.Value, sent[e.Owner], e.At, written[e.Value]})
			written[e.Value] = true
		}
	}
	if len(all) < fewestViews || len(all) > mostViews {
		return nil
	}
	slices.SortStableFunc(all, func(a, b view) int { return cmp.Compare(a.Value, b.Value) })
	return all
}

// drawViews draws a small burst.
func drawViews(all []view) *viewsDrawing {
	d := &viewsDrawing{Width: viewsWidth, All: len(all)}
	from, to := all[0].Sent, all[0].At
	var names []string
	for _, v := range all {
		from, to = min(from, v.Sent), max(to, v.At)
		if names = append(names, v.Instance); v.Twice {
			d.Twice++
		}
	}
	slices.SortFunc(names, numerically)
	names = slices.Compact(names)
	width := (viewsWidth - viewsGap*(len(names)-1)) / len(names)
	x := func(at time.Duration) int { return int(time.Duration(width) * (at - from) / max(1, to-from)) }
	for i, name := range names {
		column := viewsColumn{Name: name, X: i * (width + viewsGap), Y: viewsHead - 9}
		for _, v := range all {
			if v.Instance != name {
				continue
			}
			least := min(leastBar, width)
			begins := min(x(v.Sent), width-least)
			y := viewsHead + len(column.Bars)*viewsRow
			column.Bars = append(column.Bars, viewBar{bar{
				X: column.X + begins, Y: y, Width: max(least, x(v.At)-begins), Height: viewsRow - 4,
			}, v})
			d.Height = max(d.Height, y+viewsRow)
		}
		d.Columns = append(d.Columns, column)
	}
	return d
}

// down lists a small burst.
func (d viewsDrawing) down(all []view) (of down) {
	for _, c := range d.Columns {
		of.Names = append(of.Names, c.Name)
	}
	for _, v := range all {
		cells := make([]downCell, len(of.Names))
		cells[slices.Index(of.Names, v.Instance)].Text = v.Text()
		of.Rows = append(of.Rows, downRow{Cells: cells, Shows: v.Twice})
	}
	return of
}
