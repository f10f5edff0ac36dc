package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"locklab/loadtest/peers/page"
	"locklab/loadtest/peers/record"
	"locklab/loadtest/peers/runner"
)

type pageCommand struct {
	Runs string `arg:"" help:"The file that run --out wrote."`
	Out  string `help:"Where to write the page; otherwise to standard output."`
}

// Run makes the page of saved runs.
func (c pageCommand) Run() error {
	in, err := os.Open(c.Runs)
	if err != nil {
		return err
	}
	defer in.Close()
	saved, err := record.Read(in)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := page.Write(&text, saved); err != nil {
		return err
	}
	if c.Out == "" {
		_, err = os.Stdout.Write(text.Bytes())
		return err
	}
	return os.WriteFile(c.Out, text.Bytes(), 0o644)
}

type runCommand struct {
	Only     []string `help:"Locks, such as ours,local,limit; they are measured under every workload that is left."`
	Workload []string `help:"Workloads: ${workloads}."`
	Reps     int      `default:"5" help:"Repetitions, interleaved over all rows."`
	Long     bool     `help:"All rows, longer runs."`
	Out      string   `help:"File for the runs, one JSON line each."`
	Jar      string   `default:"java/target/peers-1.jar" help:"The Java worker."`
}

// Run measures, and prints the tables.
func (c runCommand) Run(ctx context.Context) error {
	plan, form := runner.Short(), "short"
	if c.Long {
		plan, form = runner.Long(), "long"
	}
	if len(c.Only)+len(c.Workload) > 0 {
		form = "quick look"
	}
	plan = runner.Only(plan, c.Workload, c.Only)
	if len(plan) == 0 {
		return fmt.Errorf("no workload %v", c.Workload)
	}
	out, err := c.open()
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	began := time.Now()
	saved, err := c.measure(ctx, plan, form, out)
	fmt.Fprintf(os.Stderr, "\r%d runs in %s%20s\n", len(saved.Runs), time.Since(began).Round(time.Second), "")
	return errors.Join(err, page.Tables(os.Stdout, saved)) // what was measured is shown, even when it was cut off
}

func (c runCommand) open() (io.WriteCloser, error) {
	if c.Out == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return os.Create(c.Out)
}

// measure does every row once, then every row again, each time in another order.
func (c runCommand) measure(ctx context.Context, plan []runner.Workload, form string, out io.Writer) (saved record.Saved, err error) {
	var locks []string
	delayed := false
	for _, w := range plan {
		locks = append(locks, w.Locks...)
		delayed = delayed || w.Delayed
	}
	bench, err := runner.Open(ctx, locks, delayed, c.Jar)
	if err != nil {
		return saved, err
	}
	defer func() {
		if closed := bench.Close(); err == nil {
			err = closed
		}
	}()
	saved.Header = runner.Describe(ctx, bench, form, c.Reps)
	lines := json.NewEncoder(out)
	if err := lines.Encode(saved.Header); err != nil {
		return saved, err
	}
	return saved, c.repeat(ctx, bench, plan, form != "short", func(r record.Run) error {
		saved.Runs = append(saved.Runs, r)
		return lines.Encode(r)
	})
}

// repeat runs all rows of the plan in every repetition and hands each run to keep.
func (c runCommand) repeat(ctx context.Context, bench *runner.Bench, plan []runner.Workload, every bool, keep func(record.Run) error) error {
	for rep := range c.Reps {
		for _, w := range plan {
			times := max(1, w.Times)
			for again := range times {
				rows := w.Round(rep, again, every)
				rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
				if err := c.round(ctx, bench, w, rows, rep*times+again, keep); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// round runs the rows once, one after the other; over HTTP they are one run.
func (c runCommand) round(ctx context.Context, bench *runner.Bench, w runner.Workload, rows []string, rep int, keep func(record.Run) error) error {
	rows = slices.DeleteFunc(rows, func(lock string) bool { return bench.Missing[lock] != "" })
	turns := slices.Collect(slices.Chunk(rows, 1))
	if w.Kind == runner.HTTP && len(rows) > 0 {
		turns = [][]string{slices.Sorted(slices.Values(rows))}
	}
	for _, turn := range turns {
		fmt.Fprintf(os.Stderr, "\r%d/%d %-12s %-20s", rep/max(1, w.Times)+1, c.Reps, w.Name, strings.Join(turn, " "))
		runs, err := bench.Run(ctx, w, turn, rep)
		for _, r := range runs {
			err = errors.Join(err, keep(r))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// workloads are the names that --workload takes.
func workloads() string {
	var names []string
	for _, w := range runner.Short() {
		names = append(names, w.Name)
	}
	return strings.Join(names, ", ")
}
