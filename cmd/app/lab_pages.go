package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/report/pages"
)

type labPagesCommand struct {
	IDs  []string `arg:"" optional:"" name:"id" completion-predictor:"experiment" help:"Ids of the experiments whose pages to write, or, with --take, whose runs to take over (default: all). The pages about all experiments are always written."`
	Take string   `placeholder:"FOLDER" help:"First take over the newest runs in this folder of saved runs: the results and drawings of runs that are newer than docs/experiments/results. A run with fewer trials than its experiment has is refused. If a run is inconclusive, nothing is written."`
	checkout
}

// Run writes the pages from the committed results.
func (c *labPagesCommand) Run(ctx context.Context, std streams) error {
	all := claims.All()
	var chosen []string
	for _, id := range c.IDs {
		e, err := all.Find(id)
		if err != nil {
			return usageErrorf("%w", err)
		}
		chosen = append(chosen, e.ID)
	}
	leftOut := func(id string) bool { return len(chosen) > 0 && !slices.Contains(chosen, id) }
	var refused error
	if c.Take != "" {
		var err error
		if refused, err = c.take(ctx, std, leftOut); err != nil {
			return err
		}
	}
	made, err := pages.Generate(c.Dir, all)
	if err != nil {
		return unavailable(err)
	}
	for _, e := range all {
		if leftOut(e.ID) && c.Take == "" { // a page links the pages beside it, which a new one changes
			delete(made, pages.PageOf(e.ID))
		}
	}
	changed, err := pages.Write(c.Dir, made)
	if err != nil {
		return unavailable(err)
	}
	for _, name := range changed {
		fmt.Fprintln(std.out, name)
	}
	fmt.Fprintf(std.out, "Changed %d of %d generated files.\n", len(changed), len(made))
	if refused != nil {
		return unavailable(refused)
	}
	return nil
}

// take makes new runs the committed results, and says which it has refused.
func (c *labPagesCommand) take(ctx context.Context, std streams, leftOut func(id string) bool) (refused, err error) {
	runs, err := savedRuns{c.Take}.load()
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r lab.Saved) bool { return leftOut(r.Experiment.ID) })
	if len(runs) == 0 {
		return nil, unavailable(fmt.Errorf("nothing was written: %s has no saved run to take over; first run %s lab run --all --out %[1]s",
			c.Take, self()))
	}
	taken, err := pages.Take(ctx, c.Dir, runs)
	if err != nil {
		return nil, commandError(ctx, fmt.Errorf("nothing was written: %w", err), "nothing was written")
	}
	over := strings.Join(taken.Experiments, ", ")
	fmt.Fprintf(std.out, "Took over %d of %d runs from %s: %s.\n", len(taken.Experiments), len(runs), c.Take, cmp.Or(over, "none"))
	return errors.Join(taken.Refused...), nil
}
