package html

import (
	"fmt"
	"io"
)

// Written is a value that an instance wrote to the counter of a burst.
type Written struct {
	Instance int // from 0
	Value    int64
}

// climb is how the counter of a burst went. Its height is fixed and its width is not, so it has no text inside.
type climb struct {
	chart
	Lines []climbLine
	Says  string
}

// climbLine is the largest value so far of an instance.
type climbLine struct {
	Style int
	Path  string

	top    int64
	cx, cy int // of the newest cell
}

// Measures of a climb, in its own units. A line goes from cell to cell of the grid: a burst may have thousands of values.
const (
	climbWidth  = 120
	climbHeight = 80
	climbStyles = 2 // of instances; more of them look alike
)

// Climb writes a plot of the largest value so far that each instance wrote, over the views that were confirmed. Beside them is a line from
// 0 to users: a counter that grows by one with each answer. A line above it has values whose answers came late. A version whose lines end
// below it has lost views.
func Climb(w io.Writer, users int, writes []Written) error {
	c := climb{chart: chart{Width: climbWidth, Height: climbHeight}}
	largest := int64(0)
	for i, wrote := range writes {
		for len(c.Lines) <= wrote.Instance {
			c.Lines = append(c.Lines, climbLine{Style: len(c.Lines) % climbStyles})
		}
		largest = max(largest, wrote.Value)
		c.Lines[wrote.Instance].add((i+1)*climbWidth/users, wrote.Value, users)
	}
	c.Says = fmt.Sprintf("%s of %d confirmed, and the largest value is %d", number(len(writes), "view"), users, largest)
	return pages.ExecuteTemplate(w, "climb", c)
}

func (l *climbLine) add(x int, value int64, users int) {
	l.top = max(l.top, value)
	y := climbHeight - int(l.top)*climbHeight/users
	switch {
	case l.Path == "":
		l.Path = fmt.Sprintf("M%d %d", x, y)
	case x != l.cx || y != l.cy:
		l.Path += fmt.Sprintf("L%d %d", x, y)
	default:
		return
	}
	l.cx, l.cy = x, y
}
