//go:build unix

package main

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"locklab/lab/report/terminal"
	"locklab/lab/testenv"
)

// Text is as wide as the terminal, up to 110 columns, and 110 columns wide in a file.
func TestScreen(t *testing.T) {
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		testenv.Skip(t, "no pseudo terminal: "+err.Error())
	}
	defer pty.Close()
	if err := unix.IoctlSetWinsize(int(pty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 72}); err != nil {
		testenv.Skip(t, "cannot set the size of the terminal: "+err.Error())
	}
	if got := screen(pty).Columns; got != 72 {
		t.Errorf("got %d columns, want 72", got)
	}
	words := strings.Repeat("word ", 40)
	for s, want := range map[terminal.Screen]int{screen(new(strings.Builder)): 110, {Columns: 72}: 72, {Columns: 200}: 110} {
		longest := 0
		for line := range strings.Lines(s.Wrap(words, 0)) {
			longest = max(longest, len(strings.TrimSpace(line)))
		}
		if longest > want || longest < want-5 {
			t.Errorf("%+v: the longest line has %d columns, want about %d", s, longest, want)
		}
	}
}
