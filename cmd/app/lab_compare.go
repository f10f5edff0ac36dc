package main

import (
	"fmt"
	"os"
	"path/filepath"

	"locklab/experiments/claims"
	"locklab/experiments/compare"
)

type labCompareCommand struct {
	saved
	checkout
	Bench string `default:"loadtest/peers/runs.jsonl" placeholder:"FILE" help:"File of make bench."`
	Write bool   `help:"Write docs/compare.md (default: print it)."`
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
	text := compare.Of(claims.All(), runs, bench).Page()
	if !c.Write {
		_, err := fmt.Fprint(std.out, text)
		return err
	}
	page := filepath.Join(c.Dir, "docs", "compare.md")
	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		return unavailable(err)
	}
	_, err = fmt.Fprintf(std.out, "%s is written, from %d saved runs and %d runs of the benchmark\n", page, len(runs), len(bench.Runs))
	return err
}
