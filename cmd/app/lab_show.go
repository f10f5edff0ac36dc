package main

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"locklab/experiments"
	"locklab/experiments/claims"
)

// labShowCommand holds the settings of lab show.
type labShowCommand struct {
	ID string `arg:"" name:"id" help:"Of the experiment; its number is enough: L03."`
}

// width is that of text for people.
const width = 110

// Run prints what an experiment is.
func (c *labShowCommand) Run(std streams) error {
	e, err := claims.Find(c.ID)
	if err != nil {
		return misuse("%w", err)
	}
	_, err = fmt.Fprint(std.out, shown(e))
	return err
}

func shown(e experiments.Experiment) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s\n\n%s\n", e.ID, e.Article, wrapped(e.Claim, width))
	for _, part := range []struct{ title, words string }{
		{"The articles", e.Says}, {"Erratum", e.Erratum}, {"How it is run", e.How}, {"In the matrix", e.Anomaly},
	} {
		if part.words != "" {
			fmt.Fprintf(&b, "\n%s\n%s\n", part.title, indented(wrapped(part.words, width-2)))
		}
		if part.title == "Erratum" && e.Drawing != "" {
			fmt.Fprintf(&b, "\nDrawing\n%s\n", indented(strings.Trim(e.Drawing, "\n")))
		}
	}
	t := newTable()
	t.AppendHeader(table.Row{"arm", "expected", "lock"})
	for i, arm := range e.Variants {
		t.AppendRow(table.Row{armName(arm.Name, i == 0), arm.Expect.String(), arm.Strategy})
	}
	fmt.Fprintf(&b, "\n%s\n\n", render(t))
	for _, o := range e.Interleavings {
		fmt.Fprintf(&b, "Every order of the steps of %s: expected %s\n", o.Lock.Name, o.Expect)
	}
	fmt.Fprintf(&b, "Needs %s; takes about %.0f s\nRun it: %s lab run %s\n", e.Needed(), e.Takes.Seconds(), self(), e.ID)
	if e.Docker {
		fmt.Fprintf(&b, "With the compose file's containers for Redis: %s lab run %s --on docker\n", self(), e.ID)
	}
	return b.String()
}

// armName marks the control.
func armName(name string, control bool) string {
	if control {
		return name + " (control)"
	}
	return name
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// wrapped breaks text into lines, without the blanks that go-pretty puts behind them.
func wrapped(words string, most int) string {
	lines := strings.Split(text.WrapSoft(words, most), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
