package drawing

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"locklab/lab/history"
)

// Shape draws a kind of event. Each kind has its own form, so that no colour is needed.
type Shape struct {
	ID   string
	Kind history.Kind
	Says string // in the legend
	Path template.HTMLAttr
	Full bool // filled
}

// Shapes are those of all kinds, around the point 0,0.
var Shapes = []Shape{
	{ID: "ask", Kind: history.Request, Says: "requests the lock", Path: `d="M-4-5 5 0-4 5z"`},
	{ID: "grant", Kind: history.Grant, Says: "holds it", Path: `d="M0-11V11M-2-11H3M-2 11H3"`},
	{ID: "refuse", Kind: history.Refuse, Says: "is refused", Path: `d="M-5-5V5H5V-5zM-5 5 5-5"`},
	{ID: "lose", Kind: history.Lose, Says: "learns that it has lost it", Path: `d="M2-11-3-3 3 3-2 11"`},
	{ID: "give", Kind: history.Release, Says: "releases it", Path: `d="M0-11V11M2-11H-3M2 11H-3"`},
	{ID: "gave", Kind: history.Released, Says: "gets the result of the release", Path: `d="M4-5-5 0 4 5z"`},
	{ID: "die", Kind: history.Die, Says: "dies", Path: `d="M-6-6 6 6M6-6-6 6"`},
	{ID: "read", Kind: history.Read, Says: "reads", Path: `d="M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z"`},
	{ID: "write", Kind: history.Write, Says: "writes", Path: `d="M-5-5H5V5H-5z"`, Full: true},
	{ID: "stale", Kind: history.Stale, Says: "is refused because of its fencing token", Path: `d="M-6-6H6V6H-6zM-6-6 6 6M6-6-6 6"`},
	{ID: "win", Kind: history.Win, Says: "wins", Path: `d="M0-8 2-2.6 7.6-2.5 3.2 1 4.7 6.5 0 3.3-4.7 6.5-3.2 1-7.6-2.5-2-2.6z"`, Full: true},
	{ID: "call", Kind: history.Call, Says: "calls the supplier", Path: `d="M-5-3H2V-6L8 0 2 6V3H-5z"`, Full: true},
	{ID: "final", Kind: history.Final, Says: "the value at the end", Path: `d="M0-7 7 0 0 7-7 0z"`, Full: true},
	{ID: "command", Kind: history.Command, Says: "a command to a server", Path: `d="M-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0z"`, Full: true},
	{ID: "fault", Kind: history.Fault, Says: "a fault", Path: `d="M2-9-5 2H0L-2 9 5-2H0z"`, Full: true},
	{ID: "heal", Kind: history.Heal, Says: "a fault is over", Path: `d="M-6 0-2 5 6-5"`},
	{ID: "note", Kind: history.Note, Says: "a note", Path: `d="M-5-6H5V6H-5zM-2-2H2M-2 2H2"`},
}

// shapeOf returns the shape of a kind; an unknown kind has that of a note.
func shapeOf(kind history.Kind) Shape {
	for _, s := range Shapes {
		if s.Kind == kind {
			return s
		}
	}
	return Shapes[len(Shapes)-1]
}

// refusal is the text beside what the resource refused.
func refusal(e history.Event) string {
	switch e.Name {
	case history.RefusedRead:
		return "read refused"
	case history.RefusedAll:
		return "refused"
	}
	return fmt.Sprintf("write %d refused", e.Value)
}

// label is the text beside an event, and its position. key names the event's key where the trial needs one: see [history.KeyNames].
func label(e history.Event, key string) (text string, row int) {
	of, before := "", "" // the key behind a word, and before a number
	if key != "" {
		of, before = " "+key, " "+key+":"
	}
	switch e.Kind {
	case history.Read, history.Write:
		return strings.TrimSpace(fmt.Sprintf("%s%s %d %s", e.Kind, before, e.Value, e.Text)), above
	case history.Stale:
		return strings.TrimSpace(before + " " + refusal(e)), above
	case history.Final:
		return strings.TrimSpace(fmt.Sprintf("%s ends at %d", of, e.Value)), above
	case history.Win:
		return "wins", above
	case history.Grant:
		if e.Token > 0 {
			return strings.TrimSpace(fmt.Sprintf("%s token %d", before, e.Token)), inside
		}
		return "holds" + of, inside
	case history.Release:
		return "releases" + of, below
	case history.Request:
		return "requests" + of, below
	case history.Refuse:
		return "refused" + of, below
	case history.Die:
		return "dies", below
	case history.Command:
		return e.Text, below
	case history.Lose:
		return "lost" + of + ": " + e.Text, below
	case history.Released:
		return e.Text, below
	case history.Note, history.Heal, history.Left:
		return e.Text, above
	}
	return "", nowhere
}

// describe returns everything about an event, in one line.
func describe(e history.Event) string {
	parts := []string{Milliseconds(e.At) + " ms", e.Timeline, e.Summary()}
	for _, p := range []struct{ name, text string }{
		{"key", e.Key}, {"owner", e.Owner}, {"process", e.Process}, {"proof:", e.Proof},
	} {
		if p.text != "" {
			parts = append(parts, p.name+" "+p.text)
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("event %d", e.Seq)), " · ")
}

// addBars draws when a client held the lock, and before that the wait for it. A lock ends, whatever its holder believes, when its lease
// is over, or another client is granted it.
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
			c.Waits = once(c.Waits, bar{X: asked, Y: y - 3, Width: from - asked, Height: 6})
		}
		end, class := min(to, c.over(h)), ClassOf(h.Timeline)
		c.Bars = once(c.Bars, bar{X: from, Y: y - barHalf, Width: max(4, end-from), Height: 2 * barHalf, Class: class})
		if end < to {
			c.Bars = append(c.Bars, bar{X: end, Y: y - barHalf, Width: to - end, Height: 2 * barHalf, Past: true, Class: class})
			c.Ends = append(c.Ends, caption{X: end, Y: y})
		}
	}
}

// once adds a bar that is not there: hundreds of holders may be in the gap of a long trial.
func once(bars []bar, b bar) []bar {
	if slices.Contains(bars, b) {
		return bars
	}
	return append(bars, b)
}

// over is the x at which the lease of h ends, or another client is granted its lock. Without either it is the drawing's width.
func (c *canvas) over(h history.Holder) int {
	_, granted, _ := c.hold(h)
	for _, e := range c.columns {
		if e.Key != h.Key || e.x <= granted {
			continue
		}
		if e.Name == history.LeaseEnds || e.Kind == history.Grant && e.Owner != h.Owner {
			return e.x
		}
	}
	return c.Width
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
