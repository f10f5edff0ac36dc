package lab

import (
	"strings"
	"unicode"
)

// Printable replaces the control characters in text from a file: they could steer a terminal or change a page.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// PrintableLines is [Printable] for text of several lines.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// OneLine is [Printable] for text whose lines become parts of one: joined errors have a line each.
func OneLine(text string) string { return Printable(strings.ReplaceAll(text, "\n", "; ")) }
