package html

import (
	"slices"

	"locklab/lab/history"
)

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
			c.Waits = append(c.Waits, bar{X: asked, Y: y - 3, Width: from - asked, Height: 6})
		}
		end := min(to, c.over(h))
		c.Bars = append(c.Bars, bar{X: from, Y: y - barHalf, Width: max(4, end-from), Height: 2 * barHalf})
		if end < to {
			c.Bars = append(c.Bars, bar{X: end, Y: y - barHalf, Width: to - end, Height: 2 * barHalf, Past: true})
			c.Ends = append(c.Ends, caption{X: end, Y: y})
		}
	}
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
