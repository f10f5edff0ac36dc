package pages

import (
	"strings"

	"locklab/experiments"
)

// cell makes of any text one that fits into a table.
func cell(text string) string { return strings.ReplaceAll(inline(text), "|", "\\|") }

// inline makes of any text one that fits into a line.
func inline(text string) string {
	return strings.TrimRight(experiments.Printable(strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")), ".")
}

// fenced makes of any text one that fits into a fenced block.
func fenced(text string) string {
	lines := strings.Split(strings.Trim(strings.ReplaceAll(text, "```", "'''"), "\n"), "\n")
	for i := range lines {
		lines[i] = experiments.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
