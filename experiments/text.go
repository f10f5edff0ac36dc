package experiments

import (
	"strings"
	"unicode"
)

// Printable keeps what a file contains from steering a terminal, or a page.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Needed names what an experiment needs beside this program.
func (e Experiment) Needed() string {
	if len(e.Needs) == 0 {
		return "nothing"
	}
	names := make([]string, len(e.Needs))
	for i, n := range e.Needs {
		names[i] = string(n)
	}
	return strings.Join(names, ", ")
}
