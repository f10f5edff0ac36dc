package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"locklab/experiments"
	"locklab/stack"
	"locklab/stack/compose"
)

// labRunCommand holds the settings of lab run.
type labRunCommand struct {
	selection
	Trials   int     `default:"0" placeholder:"N" help:"Trials of each arm (default: the experiment's own number, mostly 3)."`
	Seed     *uint64 `placeholder:"N" help:"Of what is left to chance (default: from the clock; it is printed)."`
	Out      string  `default:"store" env:"LAB_STORE" placeholder:"FOLDER" help:"Where runs are saved (${default})."`
	Parallel int     `default:"2" placeholder:"N" help:"Experiments at a time; they share nothing but the processors (${default})."`
	Embedded bool    `help:"Use miniredis although a redis-server is there."`
	On       string  `default:"processes" enum:"processes,docker" placeholder:"WHERE" help:"Where Redis runs: processes, or docker: the compose file's containers, as a project of their own beside the lab that is up (${default})."`
	checkout
	JSON bool `name:"json" help:"Print the verdicts as JSON, for programs."`

	image string // of the containers
}

// Bounds of a run.
const (
	mostTrials   = 1000
	mostParallel = 8
	shortSeed    = 1_000_000 // a seed that somebody will type
	onDocker     = "docker"  // of --on
)

func (c *labRunCommand) validate() error {
	switch {
	case c.Trials < 0 || c.Trials > mostTrials:
		return misuse("--trials is %d; allowed is from 1 to %d", c.Trials, mostTrials)
	case c.Parallel < 1 || c.Parallel > mostParallel:
		return misuse("--parallel is %d; allowed is from 1 to %d", c.Parallel, mostParallel)
	case c.Embedded && c.On == onDocker:
		return misuse("--embedded and --on docker are two places for Redis; drop one of the two")
	case c.Out == "":
		return misuse("--out is empty; name a folder for the saved runs")
	}
	return nil
}

// Run runs what was chosen, saves each run when it is over, and judges them all.
func (c *labRunCommand) Run(ctx context.Context, std streams) error {
	if err := c.validate(); err != nil {
		return err
	}
	chosen, err := c.choose()
	if err != nil {
		return err
	}
	result := &labResult{Build: build(), elsewhere: "with a redis-server only"}
	if c.On == onDocker {
		result.elsewhere = "on processes only"
	}
	if chosen, result.LeftOut, err = c.here(ctx, chosen, std); err != nil {
		return err
	}
	if err := experiments.Probe(c.Out); err != nil {
		return unavailable(err)
	}
	options, err := c.options()
	if err != nil {
		return err
	}
	redis.SetLogger(quiet{slog.New(slog.DiscardHandler)})
	result.Seed, result.Redis, result.Command = options.Seed, options.Engine(), c.command(options.Seed)
	began := time.Now()
	result.Runs = c.runAll(ctx, chosen, options, std)
	result.Took = time.Since(began).Seconds()
	result.sumUp()
	return c.finish(ctx, result, std)
}

// here keeps what runs where it is to run, and fails when something that it needs is missing.
func (c *labRunCommand) here(ctx context.Context, chosen []experiments.Experiment, std streams) (kept []experiments.Experiment, left []string, err error) {
	switch {
	case c.On == onDocker:
		if kept, left, err = c.contained(chosen); err == nil {
			err = c.engineIsWell(ctx, std)
		}
		return kept, left, err
	case c.Embedded:
		kept, left, err = c.embedded(chosen)
	default:
		kept = chosen
	}
	if err == nil {
		err = c.missing(kept)
	}
	return kept, left, err
}

// engineIsWell looks for Docker and the image of Redis, before any container is made.
func (c *labRunCommand) engineIsWell(ctx context.Context, std streams) error {
	project, err := compose.Load(ctx, c.Dir, "")
	if err != nil {
		return misuse("%w", err)
	}
	c.image = project.Variable("REDIS_IMAGE")
	needs := func(image string) bool { return image == c.image }
	problems := hindrances(ctx, c.Dir, project, needs, "docker", "compose", "images")
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, errors.New("interrupted: nothing was run")}
	case len(problems) == 0:
		return nil
	}
	list(std.err, problems)
	return unavailable(errors.New("containers cannot run here as it is; app doctor looks at everything"))
}

// options are those of every experiment.
func (c *labRunCommand) options() (o experiments.Options, err error) {
	self, err := os.Executable()
	if err != nil {
		return o, err
	}
	o = experiments.Options{
		Trials: c.Trials, Seed: uint64(time.Now().UnixNano()) % shortSeed, Real: stack.RealRedis() && !c.Embedded,
		App: []string{self, "serve"}, Build: build(),
	}
	if c.Seed != nil {
		o.Seed = *c.Seed
	}
	if c.Quick && c.Trials == 0 {
		o.Trials = 1
	}
	if c.On == onDocker {
		o.Image = c.image
		o.Docker, err = filepath.Abs(c.Dir)
	}
	return o, err
}

// runAll runs the experiments, a few at a time, and then those that want to be alone. After an interruption none is begun.
func (c *labRunCommand) runAll(ctx context.Context, chosen []experiments.Experiment, o experiments.Options, std streams) []*labRun {
	tell := &labProgress{progress: newProgress(std.err), all: len(chosen)}
	runs := make([]*labRun, len(chosen))
	run := func(i int, e experiments.Experiment) {
		if ctx.Err() != nil {
			return
		}
		mine := o
		mine.Command, mine.Tell = c.commandOf(e, o), tell.trial
		runs[i] = c.runOne(ctx, e, mine)
		tell.judged(runs[i])
	}
	var group errgroup.Group
	group.SetLimit(c.Parallel)
	for i, e := range chosen {
		runs[i] = notRun(e)
		if !e.Alone {
			group.Go(func() error { run(i, e); return nil })
		}
	}
	_ = group.Wait() // no run has an error: what went wrong stands in it
	for i, e := range chosen {
		if e.Alone {
			run(i, e)
		}
	}
	return runs
}

// runOne runs one experiment, and saves and judges it.
func (c *labRunCommand) runOne(ctx context.Context, e experiments.Experiment, o experiments.Options) *labRun {
	record := experiments.Run(ctx, e, o)
	run := newRun(e, record, e.Judge(record))
	dir, err := experiments.Save(c.Out, record)
	run.Saved = dir
	if err != nil {
		run.NotSaved = err.Error()
	}
	return run
}

// finish prints, and says with the exit status what it came to.
func (c *labRunCommand) finish(ctx context.Context, result *labResult, std streams) error {
	var reported, err error
	result.Report, reported = writeReport(c.Out, result.Runs)
	if c.JSON {
		err = asJSON(std, result)
	} else {
		_, err = fmt.Fprint(std.out, result.text(colours(std.out)))
	}
	if err = errors.Join(err, reported, result.notSaved()); err != nil {
		err = unavailable(err)
	}
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, errors.Join(errors.New("interrupted: what was recorded is kept, and shows nothing"), err)}
	case result.Verdict == experiments.Unexpected && err != nil:
		return exitError{exitRefuted, err}
	case err != nil:
		return err
	}
	return judgedExit(result.Verdict)
}

// labProgress tells from several experiments what is being done.
type labProgress struct {
	*progress
	mu        sync.Mutex
	over, all int
}

func (p *labProgress) trial(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step("%d/%d %s", p.over+1, p.all, what)
}

// judged leaves a line about an experiment that is over.
func (p *labProgress) judged(r *labRun) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done()
	p.over++
	fmt.Fprintf(p.to, "%d/%d %s: %s (%.1f s)\n", p.over, p.all, r.Experiment, painted(r.Verdict, p.terminal && colours(p.to)), r.Took)
}
