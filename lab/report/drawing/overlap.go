package drawing

import (
	"fmt"
	"slices"
	"strings"

	"locklab/lab/history"
)

// overlap is a time in which several clients held one key.
type overlap struct {
	Harm      bool // the violation happened under these locks; otherwise the clients only believed that they held the key
	X, Width  int
	Y, Height int
	Label     []caption
	Text      string
	Bars      []bar // the parts of the timelines in it

	key   string
	holds []history.Holder
}

// overlaps finds where one key has two or more holders, and writes their number above. It is red only where it has an effect. A
// holder whose lock has ended may believe that it holds the lock and do no harm.
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
		most := c.most(o)
		if o.Text = fmt.Sprintf("%d holders", most); most > 2 { // not all of them during all of it
			o.Text = "up to " + o.Text
		}
		if !o.Harm && !c.grows {
			o.Text += ", without an effect"
		}
		o.Label = c.heading(o.X, []string{o.Text})
	}
	for _, o := range all { // where an overlap goes on in the row below, that row has its label, too
		for _, begins := range c.begins {
			if o.X < begins && begins < o.X+o.Width {
				o.Label = append(o.Label, c.heading(begins, []string{o.Text})...)
			}
		}
	}
	return all
}

func (c *canvas) addOverlaps(all []*overlap) {
	for _, o := range all {
		if c.locate(o) {
			c.Overlaps = append(c.Overlaps, *o)
			c.Said = strings.TrimSpace(c.Said + " " + o.Text + ".")
		}
	}
}

// involved returns the owners of the locks under which the violation happened, and whether the resource saw it. A violation of
// another kind, such as too many requests, does not come from an overlap.
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

// add merges an overlap with those of the same key and kind that it touches.
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

// locate sets the position of an overlap. It reports false when its timelines are not drawn.
func (c *canvas) locate(o *overlap) bool {
	ends := o.X + o.Width
	bottom := 0
	owners := make(map[string]bool)
	for _, h := range o.holds {
		y, known := c.heights[h.Timeline]
		if !known || owners[h.Owner] {
			continue
		}
		owners[h.Owner] = true
		bottom = max(bottom, y)
		_, from, to := c.hold(h)
		if from, to = max(from, o.X), min(to, ends); from < to {
			o.Bars = append(o.Bars, bar{X: from, Y: y - barHalf, Width: to - from, Height: 2 * barHalf, Past: c.over(h) <= from})
		}
	}
	if len(owners) < 2 {
		return false
	}
	o.Y = o.Label[0].Y + 6
	o.Height = bottom + barHalf - o.Y
	return true
}

// most is the largest number of clients that held the key simultaneously.
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
