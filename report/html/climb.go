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
	Paths []string // the values of each instance
	Says  string
}

// Measures of a climb, in its own units. A value is drawn in a cell of the grid, and each cell once: a burst may have thousands.
const (
	climbWidth  = 120
	climbHeight = 80
	climbStyles = 2 // of instances; more of them look alike
)

// Climb writes a plot of the values that instances wrote, in the order in which they were confirmed. Beside them is a line from 0 to users:
// the values of a counter that loses nothing.
func Climb(w io.Writer, users int, writes []Written) error {
	c := climb{chart: chart{Width: climbWidth, Height: climbHeight}, Paths: make([]string, climbStyles)}
	paths, largest := make([]path, climbStyles), int64(0)
	taken := make(map[[3]int]bool)
	for i, wrote := range writes {
		largest = max(largest, wrote.Value)
		at := [3]int{wrote.Instance % climbStyles, (i + 1) * climbWidth / users, int(wrote.Value) * climbHeight / users}
		if !taken[at] {
			taken[at] = true
			paths[at[0]] = append(paths[at[0]], fmt.Sprintf("M%d %dh0", at[1], climbHeight-at[2]))
		}
	}
	for i, p := range paths {
		c.Paths[i] = p.String()
	}
	c.Says = fmt.Sprintf("%s of %d confirmed, and the largest value is %d", number(len(writes), "view"), users, largest)
	return pages.ExecuteTemplate(w, "climb", c)
}
