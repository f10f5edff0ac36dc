package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"locklab/internal/marked"
	"locklab/internal/progress"
	"locklab/lab/report/benchfile"
	"locklab/loadtest/benchmark/page"
	"locklab/loadtest/benchmark/runner"
	"locklab/loadtest/benchmark/scale"
)

type pageCommand struct {
	Runs string `arg:"" help:"File that run --out wrote."`
	Out  string `help:"Page whose tables are replaced (default: the tables are printed)."`
}

// Run makes the tables of docs/benchmark.md from saved runs. Tables of workloads that were not measured stay as they are.
func (c pageCommand) Run() error {
	saved, err := read(c.Runs)
	if err != nil {
		return err
	}
	return show(page.Blocks(saved), c.Out)
}

type scaleCommand struct {
	Runs string `arg:"" help:"File that run --plan scale --out wrote."`
	Out  string `help:"Page whose tables are replaced (default: the tables are printed)."`
}

// Run makes the tables of docs/scale.md from saved runs.
func (c scaleCommand) Run() error {
	saved, err := read(c.Runs)
	if err != nil {
		return err
	}
	blocks, err := scale.Blocks(saved)
	if err != nil {
		return err
	}
	return show(blocks, c.Out)
}

// show replaces the tables of a page, or without a page prints those that have a row.
func show(tables map[string]string, page string) error {
	if page != "" {
		return marked.UpdateAll(page, tables)
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		const head = 2 // lines
		if strings.Count(tables[name], "\n") > head {
			fmt.Printf("\n%s\n\n%s", name, tables[name])
		}
	}
	return nil
}

func read(file string) (benchfile.Saved, error) {
	in, err := os.Open(file)
	if err != nil {
		return benchfile.Saved{}, err
	}
	defer in.Close()
	return benchfile.Read(in)
}

// plans are what run measures, and the tables that it prints.
var plans = map[string]struct {
	workloads func() []runner.Workload
	tables    func(benchfile.Runs) map[string]string
}{"bench": {runner.Plan, page.Measurements}, "scale": {runner.Scale, scale.Measurements}}

type runCommand struct {
	Plan     string   `enum:"bench,scale" default:"bench" help:"Plan: bench, or scale for docs/scale.md (default: ${default})."`
	Only     []string `help:"Locks, such as ours,local,limit; they are measured in every workload that is left (default: all)."`
	Workload []string `help:"Workloads of the plan bench: ${bench}. Of the plan scale: ${scale} (default: all)."`
	Reps     int      `default:"3" help:"Repetitions, interleaved over all rows (default: ${default})."`
	Out      string   `help:"File for the runs, one JSON line each (default: none)."`
}

// Run measures, and prints the tables.
func (c runCommand) Run(ctx context.Context) error {
	form := benchfile.AllRows
	if len(c.Only)+len(c.Workload) > 0 {
		form = benchfile.QuickLook
	}
	plan := runner.Only(plans[c.Plan].workloads(), c.Workload, c.Only)
	if len(plan) == 0 {
		return fmt.Errorf("no workload %v", c.Workload)
	}
	out, err := os.Create(cmp.Or(c.Out, os.DevNull))
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	began := time.Now()
	saved, err := c.measure(ctx, plan, form, out)
	fmt.Fprintf(os.Stderr, "%d runs in %s\n", len(saved.Runs), time.Since(began).Round(time.Second))
	err = errors.Join(err, show(plans[c.Plan].tables(saved.Runs), "")) // also after an interruption
	for _, name := range slices.Sorted(maps.Keys(saved.Header.Missing)) {
		fmt.Printf("\n%s was not measured. It needs: %s\n", name, saved.Header.Missing[name])
	}
	return err
}

// measure runs all rows of the plan in every repetition, each time in another order.
func (c runCommand) measure(ctx context.Context, plan []runner.Workload, form string, out io.Writer) (saved benchfile.Saved, err error) {
	bench, err := runner.Open(ctx, plan)
	if err != nil {
		return saved, err
	}
	defer func() { err = errors.Join(err, bench.Close()) }()
	saved.Header = bench.Describe(form, c.Reps)
	lines := json.NewEncoder(out)
	if err := lines.Encode(saved.Header); err != nil {
		return saved, err
	}
	rounds, tell := c.rounds(plan), newTold(os.Stderr)
	defer tell.Done()
	for _, r := range rounds {
		tell.expects(r, bench.Count(r.Workload, r.rows))
	}
	for _, r := range rounds {
		runs, err := bench.Run(ctx, r.Workload, r.rows, r.number, func(row string) { tell.begins(r, row) })
		saved.Runs = append(saved.Runs, runs...)
		for _, one := range runs {
			err = errors.Join(err, lines.Encode(one))
		}
		if err != nil {
			return saved, err
		}
	}
	return saved, nil
}

// round is a workload, and its rows in the order in which they run.
type round struct {
	runner.Workload
	rows   []string
	number int // of this workload
}

func (c runCommand) rounds(plan []runner.Workload) (all []round) {
	for rep := range c.Reps {
		for _, w := range plan {
			times := max(1, w.Times)
			for again := range times {
				rows := w.Round(rep, again)
				rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
				all = append(all, round{w, rows, rep*times + again})
			}
		}
	}
	return all
}

// told says how far the benchmark is.
type told struct {
	*progress.Line
	n, all      int
	done, whole time.Duration
}

func newTold(to io.Writer) *told { return &told{Line: progress.New(to)} }

func (t *told) expects(r round, runs int) {
	t.all += runs
	t.whole += time.Duration(runs) * r.Takes()
}

func (t *told) begins(r round, row string) {
	t.n++
	t.Weighted(t.n, t.all, t.done.Seconds()/t.whole.Seconds(), strings.TrimSpace(r.Name+" "+row))
	t.done += r.Takes()
}
