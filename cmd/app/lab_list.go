package main

import (
	"fmt"
	"strings"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/report/terminal"
)

type labListCommand struct {
	JSON bool `name:"json" help:"Print the list as JSON."`
}

type listEntry struct {
	ID      string     `json:"id"`
	Article string     `json:"article"`
	Title   string     `json:"title"`
	Claim   string     `json:"claim"`
	Needs   []lab.Need `json:"needs"`
	Slow    bool       `json:"slow"`
	Takes   float64    `json:"takes_s"` // an estimate
}

func (c *labListCommand) Run(std streams) error {
	all := claims.All()
	if c.JSON {
		list := make([]listEntry, len(all))
		for i, e := range all {
			list[i] = listEntry{
				e.ID, strings.Join(e.Articles, ", "), e.Title, e.Claim, append([]lab.Need{}, e.Needs...), e.Slow, e.Takes.Seconds(),
			}
		}
		return std.json(list)
	}
	_, err := fmt.Fprint(std.out, terminal.List(all, claims.Group, self(), screen(std.out)))
	return err
}
