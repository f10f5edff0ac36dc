package main

import (
	"context"

	"locklab/experiments/check"
	"locklab/experiments/claims"
	"locklab/report/terminal"
)

type labCheckCommand struct {
	Files []string `arg:"" name:"path" help:"Saved run: its folder, store/ID for the newest, store for all. Or a file that app k6 or app jmeter has left."`
	JSON  bool     `name:"json" help:"Print the results as JSON, for programs."`
}

// Run judges every file and every saved run, and prints what they show.
func (c *labCheckCommand) Run(ctx context.Context, std streams) error {
	result := &check.Result{}
	for _, path := range c.Files {
		if err := stopped(ctx, nil, "nothing is judged"); err != nil {
			return err
		}
		if err := result.Add(path, claims.All()); err != nil {
			return misuse("%w", err)
		}
	}
	if err := printed(std, c.JSON, result, terminal.Checked); err != nil {
		return err
	}
	return verdictExit(result.Verdict, "")
}
