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
	Bench string `default:"loadtest/benchmark/runs.jsonl" placeholder:"FILE" help:"File of make bench."`
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
	from := fmt.Sprintf("from %d saved runs and %d runs of the benchmark", len(runs), len(bench.Runs))
	if len(bench.Runs) == 0 {
		from = fmt.Sprintf("from %d saved runs; its tables of the benchmark stay, because %s has no run", len(runs), c.Bench)
	}
	parts := compare.Of(claims.All(), runs, bench).Parts()
	if !c.Write {
		for _, part := range parts {
			fmt.Fprintf(std.out, "%s:\n\n%s\n", part.Name, part.Text)
		}
		return nil
	}
	if err := writeParts(page, parts, len(bench.Runs) > 0); err != nil {
		return unavailable(err)
	}
	_, err = fmt.Fprintf(std.out, "%s is written, %s\n", page, from)
	return err
}

// writeParts writes parts into a page. Without a run of the benchmark, what the page has of it stays.
func writeParts(page string, parts []compare.Part, measured bool) error {
	for _, part := range parts {
		if part.Bench && !measured {
			continue
		}
		if err := marked.Update(page, part.Name, part.Text); err != nil {
			return err
		}
	}
	return nil
}
