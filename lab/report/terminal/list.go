package terminal

import (
	"fmt"
	"strings"

	"locklab/lab"
)

// besideTitle is how many columns a row of the list has beside an id and its title.
const besideTitle = 5

const (
	listLegend = "takes about: with the usual number of trials, on two quiet cores · slow: not in --quick · " +
		"examples/articles: the articles' Java, which make articles builds with Java 17 and Maven\n" +
		"in containers, too (lab run --on docker): %s"
	listNext = `Next:
  %[1]s lab show %[2]s        its question, and its answers
  %[1]s lab run %[2]s         run it
  %[1]s lab run --quick    all that is not slow
`
)

// List is what `app lab list` prints: the experiments of each group, without their claims, so that one can predict.
// program starts the commands in it.
func List(all []lab.Experiment, groupOf func(id string) string, program string, screen Screen) string {
	group := ""
	t, widest := NewTable("id", "title · article · needs · takes about"), 0
	for _, e := range all {
		widest = max(widest, len(e.ID))
	}
	for _, e := range all {
		if g := groupOf(e.ID); g != group {
			group = g
			t.Row("", "")
			t.Row("", g)
		}
		about := fmt.Sprintf("%.0f s", e.Takes.Seconds())
		if e.Slow {
			about = "slow, " + about
		}
		needs := e.Needed()
		if some := e.Optional(); some != "" {
			needs += "; some variants: " + some
		}
		title := fmt.Sprintf("%s · %s · %s · %s", e.Title, e.Articles, needs, about)
		t.Row(e.ID, Trusted(screen.Wrap(title, widest+besideTitle)))
	}
	first := lab.Number(all[0].ID)
	var about []string
	for line := range strings.SplitSeq(fmt.Sprintf(listLegend, strings.Join(lab.InContainers(all), ", ")), "\n") {
		about = append(about, screen.Wrap(line, 0))
	}
	return fmt.Sprintf("%s\n\n%s\n", t, strings.Join(about, "\n")) + fmt.Sprintf(listNext, program, first)
}
