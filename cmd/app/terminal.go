package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"locklab/report/terminal"
)

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// colours reports whether w is a terminal and NO_COLOR is not set (no-color.org).
func colours(w io.Writer) bool { return os.Getenv("NO_COLOR") == "" && isTerminal(w) }

// screen is what shows w: as wide as the terminal, where w is one.
func screen(w io.Writer) terminal.Screen {
	s := terminal.Screen{Colour: colours(w)}
	if file, ok := w.(*os.File); ok {
		s.Columns, _, _ = term.GetSize(int(file.Fd())) // 0 where it is no terminal
	}
	return s
}
