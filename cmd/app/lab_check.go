package main

import (
	"context"

	"locklab/lab/burst/check"
	"locklab/lab/claims"
	"locklab/lab/report/terminal"
)

type labCheckCommand struct {
	Files []string `arg:"" name:"path" help:"Saved run (its folder, store/ID for the newest run, or store for all runs), or a file written by k6 or JMeter."`
	JSON  bool     `name:"json" help:"Print the results as JSON."`
}

// Run judges every saved run and every file, and prints the results.
func (c *labCheckCommand) Run(ctx context.Context, std streams) error {
	result := &check.Result{}
	for _, path := range c.Files {
		if err := commandError(ctx, nil, "nothing was judged"); err != nil {
			return err
		}
		if err := result.Add(path, claims.All()); err != nil {
			return usageErrorf("%w", err)
		}
	}
	if err := printResult(std, c.JSON, result, terminal.Checked); err != nil {
		return err
	}
	return verdictError(result.Verdict, "")
}
