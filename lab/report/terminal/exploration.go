package terminal

import (
	"fmt"
	"strings"

	"locklab/lab"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lab/report/outcome"
)

// Exploration is what `app lab explore` prints: a line for each lock, and the shortest interleaving that violates.
func Exploration(x *lab.Exploration, screen Screen) string {
	t := NewTable("lock", "what may happen", "looked for", "verdict")
	for _, l := range x.Locks {
		t.Row(l.Lock, l.MayHappen(), l.Violation, shown(outcome.Explored(l), screen.Colour))
	}
	parts := []string{screen.Wrap(x.Experiment+": "+x.Claim, 0), t.In(screen)}
	for _, l := range x.Locks {
		if l.Shortest != "" {
			what := screen.Fit(fmt.Sprintf("%s: the shortest complete interleaving in which %s", l.Lock, l.Violation), 0)
			parts = append(parts, fmt.Sprintf("%s\n\n  %s\n\n%s\n  %s", what, l.Shortest, history.Timelines(l.Events), l.Command))
		}
	}
	return strings.Join(append(parts, screen.Wrap(explore.Legend(), 0)), "\n\n") + "\n"
}
