package main

import (
	"fmt"
	"strings"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/experiments/terminal"
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

const listNext = `about: with the usual number of trials, on two cores · slow: not in --quick
in containers, too (lab run --on docker): %[3]s
Next: %[1]s lab show %[2]s    what it is    ·    %[1]s lab run %[2]s    run it    ·    %[1]s lab run --quick    all that is not slow
`

func (c *labListCommand) Run(std streams) error {
	all := claims.All()
	if c.JSON {
		list := make([]listed, len(all))
		for i, e := range all {
			list[i] = listed{e.ID, e.Article, e.Claim, append([]experiments.Need{}, e.Needs...), e.Slow, e.Takes.Seconds()}
		}
		return std.json(list)
	}
	group := ""
	t := terminal.NewTable("id", "article", "claim", "needs", "about").Right("about")
	for _, e := range all {
		if g := claims.Group(e.ID); g != group {
			group = g
			t.Row(g, "", "", "", "")
		}
		about := fmt.Sprintf("%.0f s", e.Takes.Seconds())
		if e.Slow {
			about = "slow, " + about
		}
		t.Row("  "+e.ID, e.Article, terminal.Trusted(terminal.Wrap(e.Claim, 72)), e.Needed(), about)
	}
	first, _, _ := strings.Cut(all[0].ID, "-")
	fmt.Fprintf(std.out, "%s\n\n", t)
	fmt.Fprintf(std.out, listNext, self(), first, strings.Join(experiments.InContainers(all), ", "))
	return nil
}
