package html

import (
	"fmt"
	"io"
	"strings"

	"locklab/lab/report/drawing"
)

// Written is a value that an instance wrote to the counter of a burst.
type Written struct {
	Instance int // from 0
	Value    int64
}

// Lost counts the views that wrote a value which another one had written before: the counter does not have them.
func Lost(writes []Written) int {
	seen := make(map[int64]bool)
	for _, w := range writes {
		seen[w.Value] = true
	}
	return len(writes) - len(seen)
}

// The plot of [Climb]: at its right end is the final value.
const (
	climbWidth, climbHeight = 120, 80
	climbTo                 = 114
)

// Climb writes a plot of the views that were counted, over those that were confirmed. A view is counted when it wrote a new value. What
// the first instance counted is at the bottom, and above it what the others did. The rest, up to a counter that loses nothing, is lost. The
// final value of the counter is drawn at the right end; below 0 it is not known yet. A line goes from cell to cell of a grid, because a
// burst may have thousands of values.
func Climb(w io.Writer, users int, writes []Written, final int64) error {
	x, y := axis{high: float64(users), to: climbTo}, axis{high: float64(users), from: climbHeight}
	var all, counted, first route // the upper edges of three areas, each of which covers a part of the one before
	add := func(x float64, heights ...int64) {
		for i, r := range []*route{&all, &counted, &first} {
			r.add("L%.0f %.0f", x, y.at(float64(heights[i])))
		}
	}
	seen, byFirst := make(map[int64]bool), int64(0)
	for i, wrote := range writes {
		if !seen[wrote.Value] && wrote.Instance == 0 {
			byFirst++
		}
		seen[wrote.Value] = true
		add(x.at(float64(i+1)), int64(i+1), int64(len(seen)), byFirst)
	}
	right := x.at(float64(len(writes)))
	if final >= 0 {
		add(right, int64(users), final, min(byFirst, final))
		right = climbWidth
		add(right, int64(users), final, min(byFirst, final))
	}
	p := &plot{Class: "climb", Width: climbWidth, Height: climbHeight, Stretched: true}
	for i, edge := range []route{all, counted, first} {
		p.path([]string{"area lost", "area second", "area first"}[i], "M0 %v%sL%.0f %[1]vz", climbHeight, strings.Join(edge, ""), right)
	}
	p.path("ideal", "M0 %vL%v 0H%v", climbHeight, climbTo, climbWidth)
	p.Says = fmt.Sprintf("%s of %d confirmed, and %d lost", drawing.Count(len(writes), "view"), users, Lost(writes))
	return pages().ExecuteTemplate(w, "chart", p)
}

// Winners writes a small figure for each driver who was given the order. More than five stand in two rows.
func Winners(w io.Writer, n int) error {
	size, rows := 10.0, 1
	if n > 5 {
		size, rows = min(5, 100/float64(n)), 2
	}
	columns := (n + rows - 1) / rows
	p := &plot{Class: "winners", Width: max(1, size*float64(columns)), Height: 20}
	for i := range n {
		left, foot := size*float64(i%columns), float64(20-10*(i/columns))
		head, body := .35*size, .9*size
		p.path("figure", "%sM%v %vv%va%v %[5]v 0 0 1 %v 0V%[3]vz",
			circle(left+size/2, foot-1.5*size, head), tenth(left+(size-body)/2), foot, tenth(-.6*size), tenth(body/2), tenth(body))
	}
	return pages().ExecuteTemplate(w, "chart", p)
}
