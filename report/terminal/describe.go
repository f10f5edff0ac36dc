package terminal

import (
	"fmt"
	"strings"

	"locklab/experiments"
)

// Experiment says what an experiment is. program starts the commands in it.
func Experiment(e experiments.Experiment, program string, screen Screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s\n\n%s\n", e.ID, e.Articles, screen.Wrap(e.Claim, 0))
	type part struct{ title, words string }
	parts := []part{{"The articles", e.Says}}
	for _, erratum := range e.Errata {
		parts = append(parts, part{"Erratum of " + erratum.Article, erratum.What})
	}
	parts = append(parts, part{"Known from elsewhere", e.Elsewhere}, part{"How it is run", e.How}, part{"In the matrix", e.Anomaly})
	for _, part := range parts {
		if part.words != "" {
			fmt.Fprintf(&b, "\n%s\n%s\n", part.title, Indent(screen.Wrap(part.words, 2)))
		}
		if part.title == "The articles" && e.Drawing != "" {
			fmt.Fprintf(&b, "\nDrawing\n%s\n", Indent(strings.Trim(e.Drawing, "\n")))
		}
	}
	t := NewTable("variant", "expected", "lock")
	for i, v := range e.Variants {
		t.Row(variantTitle(v.Name, i == 0), v.Expect, v.Strategy)
	}
	fmt.Fprintf(&b, "\n%s\n\n", t.In(screen))
	if err := experiments.LeftOut([]experiments.Experiment{e}); err != nil {
		fmt.Fprintf(&b, "%s\n\n", screen.Wrap(err.Error(), 0))
	}
	for _, i := range e.Interleavings {
		fmt.Fprintln(&b, screen.Wrap(fmt.Sprintf("Every interleaving of the steps of %s: expected %s", i.Lock.Name, i.Expect), 0))
	}
	fmt.Fprintf(&b, "Needs %s; takes about %.0f s\nRun it: %s lab run %s\n", e.Needed(), e.Takes.Seconds(), program, e.ID)
	if e.Docker > 0 {
		fmt.Fprintf(&b, "With the compose file's containers for Redis (about %.0f s):\n  %s lab run %s --on docker\n",
			e.Docker.Seconds(), program, e.ID)
	}
	return b.String()
}
