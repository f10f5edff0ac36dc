package main

import (
	"fmt"
	"path/filepath"

	"locklab/internal/marked"
	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/report/compare"
	"locklab/lab/report/pages"
)

type labCompareCommand struct {
	savedRuns
	checkout
	Bench string `default:"loadtest/benchmark/runs.jsonl" placeholder:"FILE" help:"Results file of make bench."`
	Write bool   `help:"Update the tables in docs/compare.md from docs/experiments/results, not from --store, instead of printing them."`
}

func (c *labCompareCommand) Run(std streams) error {
	runs, err := c.runs()
	if err != nil {
		return err
	}
	bench, err := compare.ReadBench(c.Bench)
	if err != nil {
		return unavailable(err)
	}
	page := filepath.Join(c.Dir, "docs", "compare.md")
	sources := fmt.Sprintf("from %d committed results and %d benchmark runs", len(runs), len(bench.Runs))
	if len(bench.Runs) == 0 {
		sources = fmt.Sprintf("from %d committed results; kept its benchmark tables, because %s has no runs", len(runs), c.Bench)
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
	_, err = fmt.Fprintf(std.out, "Updated %s %s.\n", page, sources)
	return err
}

// runs are those that the tables sum up: saved ones, or for the page the committed results.
func (c *labCompareCommand) runs() ([]lab.Saved, error) {
	if !c.Write {
		return c.load()
	}
	results, err := pages.Load(c.Dir, claims.All())
	if err != nil {
		return nil, unavailable(err)
	}
	return pages.Runs(results), nil
}

// writeParts writes parts into a page. Without a benchmark run, the benchmark tables of the page stay as they are.
func writeParts(page string, parts []compare.Part, hasBench bool) error {
	for _, part := range parts {
		if part.Bench && !hasBench {
			continue
		}
		if err := marked.Update(page, part.Name, part.Text); err != nil {
			return err
		}
	}
	return nil
}
