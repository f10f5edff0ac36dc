package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/report/html"
	"locklab/lab/report/terminal"
	"locklab/lab/scorecard"
	"locklab/lab/servers"
)

type labTryCommand struct {
	Program  []string `arg:"" optional:"" name:"program" passthrough:"" help:"Program to test, with its arguments, after --. It must speak the protocol in docs/protocol.md."`
	Only     []string `placeholder:"T01" help:"Tests to run (default: all)."`
	Name     string   `placeholder:"NAME" help:"Name of the lock in the output (default: the name that the program reports)."`
	List     bool     `xor:"junit,against" help:"List the tests and why each one matters, without running them."`
	Check    bool     `xor:"junit,against" help:"Play the protocol with the program once, without a fault, and show the first step that is wrong. For authors of an adapter."`
	History  bool     `xor:"junit,against" help:"List the saved scorecards by date, with the rows that changed; --name selects a lock."`
	Parallel int      `default:"3" placeholder:"N" help:"Number of tests to run at the same time, from 1 to 8."`
	Embedded bool     `help:"Use the embedded miniredis even if redis-server is installed; other servers stay real."`
	Out      string   `placeholder:"FILE" help:"HTML file to write the timelines to; the scorecard is written beside it as JSON (default: try/NAME-TIME.html in the store)."`
	Store    string   `default:"store" env:"LAB_STORE" placeholder:"FOLDER" help:"Folder to save results in; the live page shows them."`
	JSON     bool     `name:"json" help:"Print the scorecard as JSON."`

	JUnit      string `name:"junit" xor:"junit" placeholder:"FILE" help:"File to write the scorecard to as JUnit XML, for a CI."`
	Against    string `xor:"against" placeholder:"FILE" help:"Scorecard (JSON) of an earlier run: show which rows changed, and fail only if one became worse."`
	Transcript string `placeholder:"FILE" help:"File to write each line to that the lab and the program say to each other, with the time, the test, the variant and the copy."`
}

// Help is shown below the usage, in which kong places the program before the flags.
func (*labTryCommand) Help() string {
	return "Flags come before the program: app lab try --only=T01 -- ./mylock"
}

// Run tests the lock of a program and prints its scorecard.
func (c *labTryCommand) Run(ctx context.Context, std streams) error {
	rows, err := scorecard.Chosen(c.Only)
	switch {
	case err != nil:
		return usageErrorf("--only: %v", err)
	case c.List:
		_, err := fmt.Fprint(std.out, terminal.Tried(rows, screen(std.out)))
		return err
	case c.History:
		return c.printHistory(std)
	}
	if err := c.checkFlags(); err != nil {
		return err
	}
	warnOldRedis(std.say, c.Embedded)
	files, err := c.openFiles()
	if err != nil {
		return err
	}
	ctx = files.transcribed(ctx)
	if c.Check {
		err = c.check(ctx, std)
	} else {
		err = c.test(ctx, rows, files, std)
	}
	if failed := files.close(); failed != nil && err == nil {
		return unavailable(failed)
	} else if failed != nil {
		std.say(failed.Error())
	}
	return err
}

// options are those of each trial.
func (c *labTryCommand) options() lab.Options {
	return lab.Options{Seed: uint64(time.Now().UnixNano()) % seedLimit, Real: servers.RealRedis() && !c.Embedded, Build: build()}
}

// test runs the tests.
func (c *labTryCommand) test(ctx context.Context, rows []scorecard.Row, files *tryFiles, std streams) error {
	p, err := c.startProgram(ctx, std)
	if err != nil {
		return err
	}
	o := c.options()
	if o.Pace, err = lab.MeasurePace(ctx); err != nil {
		return commandError(ctx, err, "nothing was tested")
	}
	tell := terminal.NewProgress(std.err, wantsColour(std.err), p.Experiments(rows), c.Parallel, o)
	tell.State = func(r lab.Result) terminal.Trusted {
		return terminal.State(scorecard.ScoreOf(r.Saved, rows).State, wantsColour(std.err))
	}
	o.Tell = tell.Tell
	card := scorecard.Run(ctx, p, rows, c.Parallel, o)
	tell.Done()
	if c.Name != "" {
		card.Name = c.Name
	}
	return c.finish(ctx, card, files, std)
}

// checkFlags finds what is wrong with the flags before the program starts.
func (c *labTryCommand) checkFlags() error {
	if filepath.Ext(c.Out) == ".json" {
		return usageErrorf("--out is %s; set it to the HTML page, such as try.html: the JSON is written beside it", c.Out)
	}
	if err := validateRange("--parallel", c.Parallel, 1, maxParallel); err != nil {
		return err
	}
	if len(c.Program) < 2 || c.Program[0] != "--" {
		return usageErrorf("no program to test; put it after --, and flags before it: app lab try -- ./mylock (see docs/protocol.md)")
	}
	if c.Check { // it saves nothing
		return nil
	}
	return c.checkPlace()
}

// startProgram asks the program what its lock claims, and checks that the servers it needs are installed.
func (c *labTryCommand) startProgram(ctx context.Context, std streams) (p scorecard.Program, err error) {
	p, err = scorecard.Ask(ctx, c.Program[1:])
	if wrong := (scorecard.ProgramError{}); ctx.Err() == nil && errors.As(err, &wrong) {
		if len(wrong.Stderr) > 1 {
			std.say("The end of the program's stderr:\n  " + strings.Join(wrong.Stderr, "\n  "))
		}
		return p, exitError{exitUsage, err}
	}
	if err == nil {
		here := lab.Here()
		here.Real = here.Real && !c.Embedded
		err = p.CannotRun(here)
	}
	return p, commandError(ctx, err, "nothing was tested")
}

// finish writes the page, prints the scorecard, and returns the error of the verdict.
func (c *labTryCommand) finish(ctx context.Context, card *scorecard.Scorecard, files *tryFiles, std streams) error {
	if ctx.Err() != nil && len(card.Runs()) == 0 {
		return commandError(ctx, nil, "no test was done, so there is no scorecard")
	}
	page, err := c.createPage(card.Name, card.Ended)
	if err == nil {
		card.Report = page.Name()
		err = errors.Join(html.Tried(page, card), page.Close(), card.Save(), files.writeJUnit(card))
	}
	if err != nil {
		return unavailable(err)
	}
	if err := printResult(std, c.JSON, card, terminal.Scorecard); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return commandError(ctx, nil, "the scorecard has the tests that were done")
	}
	reason := ""
	if len(card.Runs()) == 0 && card.Stopped == "" {
		reason = "nothing was tested: the program claims nothing that these tests check"
	}
	if files.earlier != nil {
		return c.compare(card, files.earlier, std)
	}
	return verdictError(card.Verdict, reason)
}

func (c *labTryCommand) createPage(lock string, at time.Time) (*os.File, error) {
	if c.Out != "" {
		return os.Create(c.Out)
	}
	return scorecard.NewPage(c.Store, lock, at)
}

// checkPlace finds a place that cannot be written before the tests, which take minutes.
func (c *labTryCommand) checkPlace() error {
	if c.Out != "" {
		if err := errors.Join(writable(c.Out), writable(scorecard.Beside(c.Out))); err != nil {
			return usageErrorf("--out is %s; it cannot be written: %v", c.Out, err)
		}
		return nil
	}
	if err := scorecard.MakeFolder(c.Store); err != nil {
		return usageErrorf("--store is %s; the scorecard cannot be written there: %v", c.Store, err)
	}
	return nil
}

// writable opens a file for writing, and leaves no new one behind.
func writable(path string) error {
	_, missing := os.Stat(path)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil || missing == nil {
		return err
	}
	return os.Remove(path)
}
