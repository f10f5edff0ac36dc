package html

import (
	"fmt"
	"io"
	"strings"
)

// Written is a value that an instance wrote to the counter of a burst.
type Written struct {
	Instance int // from 0
	Value    int64
}

// Climb writes a plot of the largest value so far that each instance wrote, over the views that were confirmed. Beside them is a line from
// 0 to users: a counter that grows by one with each answer. A line above it has values whose answers came late. A version whose lines end
// below it has lost views. A line goes from cell to cell of a grid, because a burst may have thousands of values.
func Climb(w io.Writer, users int, writes []Written) error {
	p := &plot{Class: "climb", Width: 120, Height: 80, Stretched: true}
	x, y := axis{high: float64(users), to: p.Width}, axis{high: float64(users), from: p.Height}
	p.path("confirmed", "M0 %vL%v 0", p.Height, p.Width)
	var lines []route
	var highest []int64
	largest := int64(0)
	for i, wrote := range writes {
		for len(lines) <= wrote.Instance {
			lines, highest = append(lines, nil), append(highest, 0)
		}
		top := max(highest[wrote.Instance], wrote.Value)
		highest[wrote.Instance], largest = top, max(largest, top)
		lines[wrote.Instance].add("%.0f %.0f", x.at(float64(i+1)), y.at(float64(top)))
	}
	for i, line := range lines {
		if len(line) > 0 {
			p.path(fmt.Sprint("wrote-", i%2), "M%s", strings.Join(line, "L")) // more than two instances look alike
		}
	}
	p.Says = fmt.Sprintf("%s of %d confirmed, and the largest value is %d", number(len(writes), "view"), users, largest)
	return pages.ExecuteTemplate(w, "chart", p)
}
