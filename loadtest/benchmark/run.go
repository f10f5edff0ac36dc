package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"

	"locklab/internal/marked"
	"locklab/internal/progress"
	"locklab/lab/report/benchfile"
	"locklab/loadtest/benchmark/page"
	"locklab/loadtest/benchmark/runner"
)

type pageCommand struct {
	Runs string `arg:"" help:"File that run --out wrote."`
	Out  string `help:"Page whose tables are replaced (default: the tables are printed)."`
}

// Run makes the tables of a page from saved runs of all its rows.
func (c pageCommand) Run() error {
	in, err := os.Open(c.Runs)
	if err != nil {
		return err
	}
	defer in.Close()
	saved, err := benchfile.Read(in)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Runs, err)
	}
	if c.Out == "" {
		show(saved)
		return nil
	}
	if saved.Header.Form != benchfile.AllRows {
		return fmt.Errorf("%s has some rows only: measure without --only and --workload to update %s", c.Runs, c.Out)
	}
	return marked.UpdateAll(c.Out, page.Blocks(saved))
}

func show(saved benchfile.Saved) {
	tables := page.Blocks(saved)
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		fmt.Printf("\n%s\n\n%s", name, tables[name])
	}
}

type runCommand struct {
	Plan     string   `enum:"bench,scale" default:"bench" help:"Plan: bench, or scale for docs/scale.md (default: ${default})."`
	Only     []string `help:"Locks of the plan, such as ours,local,limit (default: all)."`
	Workload []string `help:"Workloads of the plan bench: ${bench}. Of the plan scale: ${scale} (default: all)."`
	Reps     int      `default:"3" help:"Repetitions, interleaved over all rows (default: ${default})."`
	Out      string   `help:"File for the runs, one JSON line each (default: none)."`
}

// Run measures, and prints the tables.
func (c runCommand) Run(ctx context.Context) error {
	plan := runner.Only(runner.Plans[c.Plan], c.Workload, c.Only)
	if len(plan) == 0 {
		return fmt.Errorf("the plan %s has no row %v of %v", c.Plan, c.Only, c.Workload)
	}
	saved, err := c.measure(ctx, plan)
	show(saved) // also after an interruption
	return err
}

// measure runs all rows of the plan in every repetition, each time in another order.
func (c runCommand) measure(ctx context.Context, plan []runner.Workload) (saved benchfile.Saved, err error) {
	bench, err := runner.Open(ctx, plan)
	if err != nil {
		return saved, err
	}
	defer func() { err = errors.Join(err, bench.Close()) }()
	form := benchfile.AllRows
	if len(c.Only)+len(c.Workload) > 0 {
		form = benchfile.QuickLook
	}
	saved.Header = bench.Describe(form, c.Reps) // before a committed file changes: it says whether the tree is clean
	out, err := os.Create(c.part())
	if err != nil {
		return saved, err
	}
	defer out.Close()
	lines := json.NewEncoder(out)
	if err := lines.Encode(saved.Header); err != nil {
		return saved, err
	}
	rows, line := c.rows(bench, plan), progress.New(os.Stderr)
	defer line.Done()
	for i, r := range rows {
		line.Step(i+1, len(rows), r.Name+" "+r.lock)
		one, err := bench.Run(ctx, r.Workload, r.lock, r.rep)
		if err == nil {
			err = lines.Encode(one)
		}
		if err != nil {
			return saved, err
		}
		saved.Runs = append(saved.Runs, one)
	}
	if c.Out != "" {
		err = os.Rename(c.part(), c.Out)
	}
	return saved, err
}

// part is the file for the runs until all of them are there.
func (c runCommand) part() string {
	if c.Out == "" {
		return os.DevNull
	}
	return c.Out + ".part"
}

// row is a lock under a workload in one repetition.
type row struct {
	runner.Workload
	lock string
	rep  int
}

func (c runCommand) rows(bench *runner.Bench, plan []runner.Workload) (all []row) {
	for rep := range c.Reps {
		for _, w := range plan {
			locks := slices.Clone(w.Locks)
			rand.Shuffle(len(locks), func(i, j int) { locks[i], locks[j] = locks[j], locks[i] })
			for _, lock := range locks {
				if bench.Has(w, lock) {
					all = append(all, row{w, lock, rep})
				}
			}
		}
	}
	return all
}
