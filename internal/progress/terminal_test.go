//go:build linux

package progress

import (
	"fmt"
	"testing"

	"locklab/lab/testenv"
)

const long = "L03-foreign-unlock: DEL, trial 2 of 3, and its end"

// The line takes one row of the terminal, however narrow it is, and nothing of it is left.
func TestOneRow(t *testing.T) {
	for columns, end := range map[int]string{40: "…\r", 80: "and its end\r"} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			p := testenv.OpenTerminal(t, columns)
			l := New(p.File)
			l.Step(1, 2, long)
			p.Until(end)
			l.Print("\x1b[32m1/2\x1b[0m is over")
			l.Step(2, 2, "two")
			p.Until("2/2 two")
			l.Print("the last is over")
			l.Done()
			p.WantAtTheEnd("1/2 is over", "the last is over")
		})
	}
}

// A terminal that does not know its size gets a line for each step.
func TestWithoutASize(t *testing.T) {
	p := testenv.OpenTerminal(t, 0)
	l := New(p.File)
	l.Step(1, 1, long)
	l.Done()
	p.WantAtTheEnd("1/1 " + long)
}

// The terminal becomes narrower while a step runs.
func TestResize(t *testing.T) {
	p := testenv.OpenTerminal(t, 80)
	l := New(p.File)
	l.Say(long)
	p.Until("and its end\r")
	p.Resize(40)
	p.Until("…\r")
	l.Done()
}

// A step behind the end, such as what is cleared up, shows the line again.
func TestAgain(t *testing.T) {
	p := testenv.OpenTerminal(t, 80)
	l := New(p.File)
	for _, what := range []string{"one", "two"} {
		l.Say(what)
		p.Until(what)
		l.Done()
	}
	p.WantAtTheEnd()
}
