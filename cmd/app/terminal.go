package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// progress tells what is being done: on a terminal in one line that changes, elsewhere line by line.
type progress struct {
	to       io.Writer
	terminal bool
}

func newProgress(to io.Writer) *progress { return &progress{to, isTerminal(to)} }

// step replaces what was told before.
func (p *progress) step(format string, args ...any) {
	if p.terminal {
		fmt.Fprintf(p.to, "\r\x1b[K"+format+" …", args...)
		return
	}
	fmt.Fprintf(p.to, format+"\n", args...)
}

// done clears the line.
func (p *progress) done() {
	if p.terminal {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// colours reports whether w shows them and nobody asked for none (no-color.org).
func colours(w io.Writer) bool { return os.Getenv("NO_COLOR") == "" && isTerminal(w) }
