package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"locklab/report/terminal"
)

// progress shows what a command does: on a terminal in one line that changes, elsewhere in a line for each step.
type progress struct {
	to       io.Writer
	terminal bool
}

func newProgress(to io.Writer) *progress { return &progress{to, isTerminal(to)} }

// step shows a step. On a terminal it replaces the one before.
func (p *progress) step(format string, args ...any) {
	if p.terminal {
		fmt.Fprintf(p.to, "\r\x1b[K"+format+" …", args...)
		return
	}
	fmt.Fprintf(p.to, format+"\n", args...)
}

func (p *progress) done() {
	if p.terminal {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}

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
