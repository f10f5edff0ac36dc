package report

import (
	"fmt"
	"slices"
	"strings"

	"locklab/history"
)

// overlap is a time in which several held one key.
type overlap struct {
	Harm      bool // the breach is of these holds; otherwise it stayed a belief
	X, Width  int
	Y, Height int
	LabelY    int
	Text      string
	Bars      []bar // the parts of the holds that lie in it

	key   string
	holds []history.Holder
}

// overlaps finds where two or more hold one key, and writes it above. That is red only where it came to something: a
// holder whose lease has run out may still believe in it when nobody is hurt.
func (c *canvas) overlaps(holds []history.Holder, found *history.Violation) (all []*overlap) {
	owners, effect := c.involved(found)
	harmed := false
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			_, fromA, toA := c.hold(a)
			_, fromB, toB := c.hold(b)
			if from, to := max(fromA, fromB), min(toA, toB); a.Overlaps(b) && from < to {
				harm := owners[a.Owner] && owners[b.Owner]
				harmed = harmed || harm
				all = add(all, &overlap{X: from, Width: to - from, Harm: harm, key: a.Key, holds: []history.Holder{a, b}})
			}
		}
	}
	for _, o := range all {
		o.Harm = o.Harm || effect && !harmed
		o.Text = fmt.Sprintf("%d hold it at once", c.most(o))
		if !o.Harm {
			o.Text = fmt.Sprintf("%d believe they hold it", c.most(o))
		}
		o.LabelY = c.heading(o.X, o.Text)
	}
	return all
}

// addOverlaps draws them over the lanes.
func (c *canvas) addOverlaps(all []*overlap) {
	for _, o := range all {
		if c.place(o) {
			c.Overlaps = append(c.Overlaps, *o)
			c.Harmed, c.Believed = c.Harmed || o.Harm, c.Believed || !o.Harm
			c.Said = strings.TrimSpace(c.Said + " " + o.Text + ".")
		}
	}
}

// involved are the owners of the locks under which the breach happened, and whether the resource saw it: a breach of
// another kind, such as too many requests, is not the work of an overlap.
func (c *canvas) involved(found *history.Violation) (owners map[string]bool, effect bool) {
	owners = make(map[string]bool)
	for _, at := range c.columns {
		if found != nil && slices.Contains(found.Events, at.Seq) {
			owners[at.Owner] = true
			effect = effect || at.Kind == history.Write || at.Kind == history.Win || at.Kind == history.Final
		}
	}
	return owners, effect
}

// add joins an overlap with those of the same key and kind that it touches.
func add(all []*overlap, o *overlap) []*overlap {
	for i, other := range all {
		if other.key != o.key || other.Harm != o.Harm || other.X >= o.X+o.Width || o.X >= other.X+other.Width {
			continue
		}
		end := max(o.X+o.Width, other.X+other.Width)
		o.X = min(o.X, other.X)
		o.Width = end - o.X
		o.holds = append(o.holds, other.holds...)
		return add(slices.Delete(all, i, i+1), o)
	}
	return append(all, o)
}

// place finds out where an overlap lies. It reports false when its lanes are not drawn.
func (c *canvas) place(o *overlap) bool {
	ends := o.X + o.Width
	bottom := 0
	owners := make(map[string]bool)
	for _, h := range o.holds {
		y, known := c.lanes[h.Timeline]
		if !known || owners[h.Owner] {
			continue
		}
		owners[h.Owner] = true
		bottom = max(bottom, y)
		_, from, to := c.hold(h)
		if from, to = max(from, o.X), min(to, ends); from < to {
			o.Bars = append(o.Bars, bar{X: from, Y: y - barHalf, Width: to - from, Height: 2 * barHalf})
		}
	}
	if len(owners) < 2 {
		return false
	}
	o.Y = o.LabelY + 6
	o.Height = bottom + barHalf - o.Y
	return true
}

// most is how many of the holds there were at one time.
func (c *canvas) most(o *overlap) (most int) {
	for _, h := range o.holds {
		_, at, _ := c.hold(h)
		owners := make(map[string]bool)
		for _, other := range o.holds {
			if _, from, to := c.hold(other); from <= at && at < to {
				owners[other.Owner] = true
			}
		}
		most = max(most, len(owners))
	}
	return most
}
