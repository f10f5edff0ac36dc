package experiments

import (
	"fmt"
	"strings"

	"locklab/experiments/terminal"
)

// Describe says for people what the experiment is. program starts the commands in it.
func (e Experiment) Describe(program string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s\n\n%s\n", e.ID, e.Article, terminal.Wrap(e.Claim, terminal.Width))
	type part struct{ title, words string }
	parts := []part{{"The articles", e.Says}}
	for _, erratum := range e.Errata {
		parts = append(parts, part{"Erratum of " + erratum.Article, erratum.What})
	}
	for _, part := range append(parts, part{"How it is run", e.How}, part{"In the matrix", e.Anomaly}) {
		if part.words != "" {
			fmt.Fprintf(&b, "\n%s\n%s\n", part.title, terminal.Indent(terminal.Wrap(part.words, terminal.Width-2)))
		}
		if part.title == "The articles" && e.Drawing != "" {
			fmt.Fprintf(&b, "\nDrawing\n%s\n", terminal.Indent(strings.Trim(e.Drawing, "\n")))
		}
	}
	t := terminal.NewTable("variant", "expected", "lock")
	for i, v := range e.Variants {
		t.Row(VariantTitle(v.Name, i == 0), v.Expect, v.Strategy)
	}
	fmt.Fprintf(&b, "\n%s\n\n", t)
	if err := LeftOut([]Experiment{e}); err != nil {
		fmt.Fprintf(&b, "%s\n\n", terminal.Wrap(err.Error(), terminal.Width))
	}
	for _, i := range e.Interleavings {
		fmt.Fprintf(&b, "Every interleaving of the steps of %s: expected %s\n", i.Lock.Name, i.Expect)
	}
	fmt.Fprintf(&b, "Needs %s; takes about %.0f s\nRun it: %s lab run %s\n", e.Needed(), e.Takes.Seconds(), program, e.ID)
	if e.Docker > 0 {
		fmt.Fprintf(&b, "With the compose file's containers for Redis (about %.0f s): %s lab run %s --on docker\n",
			e.Docker.Seconds(), program, e.ID)
	}
	return b.String()
}
