package main

import (
	"fmt"
	"strings"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/report/terminal"
)

type labListCommand struct {
	JSON bool `name:"json" help:"Print the list as JSON, for programs."`
}

type listed struct {
	ID      string             `json:"id"`
	Article string             `json:"article"`
	Claim   string             `json:"claim"`
	Needs   []experiments.Need `json:"needs"`
	Slow    bool               `json:"slow"`
	Takes   float64            `json:"takes_s"` // about
}

// besideClaim is how many columns a row of the list has beside an id and its claim.
const besideClaim = 5

const (
	listLegend = "about: with the usual number of trials, on two quiet cores · slow: not in --quick\n" +
		"in containers, too (lab run --on docker): %s"
	listNext = `Next:
  %[1]s lab show %[2]s        what it is
  %[1]s lab run %[2]s         run it
  %[1]s lab run --quick    all that is not slow
`
)

func (c *labListCommand) Run(std streams) error {
	all := claims.All()
	if c.JSON {
		list := make([]listed, len(all))
		for i, e := range all {
			list[i] = listed{e.ID, strings.Join(e.Articles, ", "), e.Claim, append([]experiments.Need{}, e.Needs...), e.Slow, e.Takes.Seconds()}
		}
		return std.json(list)
	}
	_, err := fmt.Fprint(std.out, listText(all, screen(std.out)))
	return err
}

// listText is the list for people.
func listText(all []experiments.Experiment, shown terminal.Screen) string {
	group := ""
	t, widest := terminal.NewTable("id", "claim · article · needs · about"), 0
	for _, e := range all {
		widest = max(widest, len(e.ID))
	}
	for _, e := range all {
		if g := claims.Group(e.ID); g != group {
			group = g
			t.Row("", "")
			t.Row("", g)
		}
		about := fmt.Sprintf("%.0f s", e.Takes.Seconds())
		if e.Slow {
			about = "slow, " + about
		}
		claim := fmt.Sprintf("%s · %s · %s · %s", e.Claim, e.Articles, e.Needed(), about)
		t.Row(e.ID, terminal.Trusted(shown.Wrap(claim, widest+besideClaim)))
	}
	first, _, _ := strings.Cut(all[0].ID, "-")
	var about []string
	for line := range strings.SplitSeq(fmt.Sprintf(listLegend, strings.Join(experiments.InContainers(all), ", ")), "\n") {
		about = append(about, shown.Wrap(line, 0))
	}
	return fmt.Sprintf("%s\n\n%s\n", t, strings.Join(about, "\n")) + fmt.Sprintf(listNext, self(), first)
}
