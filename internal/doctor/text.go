package doctor

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text is the lines for people, aligned, and how many are problems.
func Text(lines []Line) string {
	width := 0
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line.Name))
	}
	var text strings.Builder
	for _, line := range lines {
		state := "problem"
		if line.OK {
			state = "ok"
		}
		fmt.Fprintf(&text, "%-7s  %-*s  %s\n", state, width, line.Name, line.Found)
		if !line.OK {
			fmt.Fprintf(&text, "%-7s  → %s\n", "", line.Do)
		}
	}
	switch n := Problems(lines); n {
	case 0:
		text.WriteString("\nAll is ok.\n")
	case 1:
		text.WriteString("\n1 problem.\n")
	default:
		fmt.Fprintf(&text, "\n%d problems.\n", n)
	}
	return text.String()
}
