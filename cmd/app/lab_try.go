package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"locklab/experiments"
	"locklab/experiments/agent/protocol"
	"locklab/experiments/try"
	"locklab/report/html"
	"locklab/report/terminal"
	"locklab/stack"
)

type labTryCommand struct {
	Program  []string `arg:"" optional:"" name:"program" passthrough:"" help:"Program with the lock, and its arguments, after --. It speaks the protocol of docs/protocol.md."`
	Only     []string `placeholder:"T01" help:"Rows to try (default: all)."`
	Name     string   `placeholder:"NAME" help:"Name of the lock in the output (default: what the program says)."`
	List     bool     `help:"List what is tried, and why it matters; try nothing."`
	Parallel int      `default:"3" placeholder:"N" help:"Rows at a time; most of their time they wait."`
	Embedded bool     `help:"Use miniredis although a redis-server is there."`
	Out      string   `placeholder:"FILE" help:"File for the page with the timelines; the scorecard as JSON lies beside it (default: try/NAME.html in the store)."`
	Store    string   `default:"store" env:"LAB_STORE" placeholder:"FOLDER" help:"Folder of the saved runs, which the live page shows."`
	JSON     bool     `name:"json" help:"Print the scorecard as JSON, for programs."`
}

// Run tries a program, and prints its scorecard.
func (c *labTryCommand) Run(ctx context.Context, std streams) error {
	rows, err := try.Chosen(c.Only)
	switch {
	case err != nil:
		return misuse("--only: %v", err)
	case c.List:
		_, err := fmt.Fprint(std.out, terminal.Tried(rows, screen(std.out)))
		return err
	}
	if filepath.Ext(c.Out) == ".json" {
		return misuse("--out is %s; name the page, as try.html: the scorecard as JSON lies beside it", c.Out)
	}
	if err := within("--parallel", c.Parallel, 1, mostParallel); err != nil {
		return err
	}
	tellOldRedis(std.say, c.Embedded)
	p, err := c.program(ctx, std)
	if err != nil {
		return err
	}
	o := experiments.Options{Seed: uint64(time.Now().UnixNano()) % shortSeed, Real: stack.RealRedis() && !c.Embedded, Build: build()}
	if o.Pace, err = experiments.MeasurePace(ctx); err != nil {
		return stopped(ctx, err, "nothing was tried")
	}
	tell := terminal.NewProgress(std.err, colours(std.err), p.Experiments(rows), c.Parallel, o)
	tell.State = func(r experiments.Result) terminal.Trusted {
		return terminal.State(try.ScoreOf(r.Saved, rows).State, colours(std.err))
	}
	o.Tell = tell.Tell
	card := try.Run(ctx, p, rows, c.Parallel, o)
	tell.Done()
	if c.Name != "" {
		card.Name = c.Name
	}
	return c.finish(ctx, card, std)
}

// program asks the program what it claims, and looks for the servers that it needs.
func (c *labTryCommand) program(ctx context.Context, std streams) (p try.Program, err error) {
	if len(c.Program) < 2 || c.Program[0] != "--" {
		return p, misuse("name the program to try after --, and flags before it: app lab try -- ./mylock; docs/protocol.md says what it must do")
	}
	p, err = try.Ask(ctx, c.Program[1:])
	if err == nil {
		err = p.Missing()
	}
	if err == nil && p.Claims.Store == protocol.Etcd {
		err = preparedEtcd(ctx, std.say)
	}
	return p, stopped(ctx, err, "nothing was tried")
}

// finish writes the page, prints, and says with the exit status what it came to.
func (c *labTryCommand) finish(ctx context.Context, card *try.Scorecard, std streams) error {
	if ctx.Err() != nil {
		return stopped(ctx, nil, "what was tried shows nothing")
	}
	card.Report = cmp.Or(c.Out, try.PageOf(c.Store, card.Name, c.Only...))
	if c.Out == "" {
		if err := os.MkdirAll(filepath.Dir(card.Report), 0o755); err != nil {
			return unavailable(err)
		}
	}
	page, err := os.Create(card.Report)
	if err == nil {
		err = errors.Join(html.Tried(page, card), page.Close(), card.Save())
	}
	if err != nil {
		return unavailable(err)
	}
	if err := printed(std, c.JSON, card, terminal.Scorecard); err != nil {
		return err
	}
	why := ""
	if len(card.Runs()) == 0 {
		why = "nothing was tried: the program claims none of these rows"
	}
	return verdictExit(card.Verdict, why)
}
