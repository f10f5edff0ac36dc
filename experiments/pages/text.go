package pages

import (
	"strings"

	"locklab/experiments/terminal"
)

// cell makes of any text one that fits into a table.
func cell(text string) string { return strings.ReplaceAll(inline(text), "|", "\\|") }

// inline makes of any text one that fits into a line.
func inline(text string) string {
	return strings.TrimRight(terminal.OneLine(strings.TrimSpace(text)), ".")
}

// fenced makes of any text one that fits into a fenced block.
func fenced(text string) string {
	return terminal.PrintableLines(strings.Trim(strings.ReplaceAll(text, "```", "'''"), "\n"))
}
