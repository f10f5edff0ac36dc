package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"locklab/lab/report/terminal"
)

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// wantsColour reports whether w is a terminal and NO_COLOR is not set (no-color.org).
func wantsColour(w io.Writer) bool { return os.Getenv("NO_COLOR") == "" && isTerminal(w) }

// screen describes where w is shown. Columns is 0 if w is not a terminal.
func screen(w io.Writer) terminal.Screen {
	s := terminal.Screen{Colour: wantsColour(w)}
	if file, ok := w.(*os.File); ok {
		s.Columns, _, _ = term.GetSize(int(file.Fd()))
	}
	return s
}
