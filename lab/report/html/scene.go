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
	Views   *plot
	Down    down
}

// Scene writes a trial as the story shows it. With tokens each grant has its fencing token. Without a violation more events may come.
func Scene(w io.Writer, events []history.Event, found *history.Violation, tokens bool) error {
	if len(events) == 0 {
		return nil
	}
	if all := smallBurst(events); all != nil {
		return pages.ExecuteTemplate(w, "scene", scene{Views: plotViews(all), Down: viewsDown(all)})
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

// view is a view that was answered.
type view struct {
	Instance string
	Value    int64 // that it wrote
	Sent, At time.Duration
	Twice    bool // an earlier answer has the same number
}

// Text is what it did. The counter of a view is what it has read, plus one.
func (v view) Text() string { return fmt.Sprintf("read %d, wrote %d", v.Value-1, v.Value) }

// A burst is small with so many views.
const fewestViews, mostViews = 12, 40

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

// instancesOf are the names of those that have answered views.
func instancesOf(all []view) (names []string) {
	for _, v := range all {
		names = append(names, v.Instance)
	}
	slices.SortFunc(names, numerically)
	return slices.Compact(names)
}

// plotViews has a bar for each view of a small burst, below the instance that counted it. A bar says what it read and wrote.
func plotViews(all []view) *plot {
	const head, row, gap, leastBar = 24, 21, 40, 150 // the least is for its text
	names, twice := instancesOf(all), 0
	p := &plot{Class: "fits", Width: 820, Caption: "a bar: from the moment at which a view was sent to its answer"}
	width := (p.Width - gap*float64(len(names)-1)) / float64(len(names))
	from, to := all[0].Sent, all[0].At
	for _, v := range all {
		from, to = min(from, v.Sent), max(to, v.At)
	}
	for i, name := range names {
		left, y := float64(i)*(width+gap), float64(head)
		x := axis{low: float64(from), high: float64(to), from: left, to: left + width}
		p.text("instance", left, head-9, name)
		for _, v := range all {
			if v.Instance != name {
				continue
			}
			class, text := "hold", "wrote"
			if v.Twice {
				class, text, twice = "loss", "wrote shows", twice+1
			}
			least := min(leastBar, width)
			begins := min(x.at(float64(v.Sent)), x.to-least)
			p.bar(class, begins, y+row-4, max(least, x.at(float64(v.At))-begins), row-4)
			p.text(text, begins+6, y+13, v.Text())
			y += row
		}
		p.Height = max(p.Height, y)
	}
	if twice > 0 {
		says := fmt.Sprintf("wrote a number that another view had written: %d of %d", twice, len(all))
		p.Keys = []plotKey{{"loss", "M1 1h24v12h-24z", says}}
	}
	return p
}

// viewsDown lists a small burst.
func viewsDown(all []view) down {
	d := down{Names: instancesOf(all)}
	for _, v := range all {
		cells := make([]downCell, len(d.Names))
		cells[slices.Index(d.Names, v.Instance)].Text = v.Text()
		d.Rows = append(d.Rows, downRow{Cells: cells, Shows: v.Twice})
	}
	return d
}
