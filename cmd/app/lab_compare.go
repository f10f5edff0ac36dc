package main

import (
	"fmt"
	"path/filepath"

	"locklab/experiments/claims"
	"locklab/internal/marked"
	"locklab/report/compare"
)

type labCompareCommand struct {
	saved
	checkout
	Bench string `default:"loadtest/peers/runs.jsonl" placeholder:"FILE" help:"File of make bench."`
	Write bool   `help:"Write the tables of docs/compare.md (default: print them)."`
}

func (c *labCompareCommand) Run(std streams) error {
	runs, err := c.runs(c.Write)
	if err != nil {
		return err
	}
	bench, err := compare.ReadBench(c.Bench)
	if err != nil {
		return unavailable(err)
	}
	page := filepath.Join(c.Dir, "docs", "compare.md")
	for _, part := range compare.Of(claims.All(), runs, bench).Parts() {
		if !c.Write {
			fmt.Fprintf(std.out, "%s:\n\n%s\n", part.Name, part.Text)
		} else if err := marked.Update(page, part.Name, part.Text); err != nil {
			return unavailable(err)
		}
	}
	if !c.Write {
		return nil
	}
	_, err = fmt.Fprintf(std.out, "%s is written, from %d saved runs and %d runs of the benchmark\n", page, len(runs), len(bench.Runs))
	return err
}
