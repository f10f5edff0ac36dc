package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/report/html"
	"locklab/report/terminal"
	"locklab/stack"
	"locklab/stack/compose"
)

type labRunCommand struct {
	selection
	Trials   *int    `placeholder:"N" help:"Trials of each variant (default: the experiment's own number, mostly 3)."`
	Seed     *uint64 `placeholder:"N" help:"Random seed (default: from the clock; printed)."`
	Out      string  `default:"store" env:"LAB_STORE" placeholder:"FOLDER" help:"Folder for the saved runs."`
	Parallel int     `default:"4" placeholder:"N" help:"Experiments at a time; most of their time they wait."`
	Embedded bool    `help:"Use miniredis although a redis-server is there."`
	On       string  `default:"processes" enum:"processes,docker" placeholder:"WHERE" help:"Place of Redis: processes, or docker (containers of docker-compose.yml, as a project of their own)."`
	checkout
	JSON bool `name:"json" help:"Print the verdicts as JSON, for programs."`

	image string // of the containers
}

// Bounds of a run.
const (
	mostTrials   = 1000
	mostParallel = 8
	shortSeed    = 1_000_000 // a seed that a person will type
	onDocker     = "docker"  // of --on
)

func (c *labRunCommand) validate() error {
	switch {
	case c.Embedded && c.On == onDocker:
		return misuse("--embedded and --on docker are two places for Redis; drop one of the two")
	case c.Out == "":
		return misuse("--out is empty; name a folder for the saved runs")
	}
	return cmp.Or(within("--trials", c.trials(1), 1, mostTrials), within("--parallel", c.Parallel, 1, mostParallel))
}

// trials is how many were asked for, or otherwise.
func (c *labRunCommand) trials(otherwise int) int { return *cmp.Or(c.Trials, &otherwise) }

// Run runs what was chosen, saves each run when it is over, and judges them all.
func (c *labRunCommand) Run(ctx context.Context, std streams) error {
	if err := c.validate(); err != nil {
		return err
	}
	chosen, err := c.choose(claims.All())
	if err != nil {
		return misuse("%w", err)
	}
	result := &experiments.Results{Build: build(), Elsewhere: "with a redis-server only"}
	if c.On == onDocker {
		result.Elsewhere = "on processes only"
	}
	if chosen, result.Missing = c.able(chosen); len(result.Missing) > 0 && os.Getenv("LAB_REQUIRE") == "all" {
		return unavailable(fmt.Errorf("LAB_REQUIRE=all requires every program: %s", strings.Join(result.Missing, "; ")))
	}
	if chosen, result.LeftOut, err = c.here(ctx, chosen, std); err != nil {
		return err
	}
	if err := stopped(ctx, c.prepare(ctx, chosen, std.say), "no experiment was begun"); err != nil {
		return err
	}
	options, err := c.options()
	if err == nil {
		options.Pace, err = experiments.MeasurePace(ctx)
	}
	if err := stopped(ctx, err, "no experiment was begun"); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "Pace: %s.\n", screen(std.err).Fit(options.Pace.String(), 6))
	result.Seed, result.Redis, result.Pace, result.Command = options.Seed, options.Engine(), options.Pace, c.reproduce(options.Seed)
	began, tell := time.Now(), terminal.NewProgress(std.err, colours(std.err), chosen, c.Parallel, options)
	result.Runs = experiments.RunAll(ctx, chosen, c.Parallel, func(e experiments.Experiment) experiments.Result {
		mine := options
		mine.Command, mine.Tell = c.reproduceOne(e, options), tell.Tell
		return experiments.Run(ctx, e, mine)
	})
	tell.Done()
	result.Took, result.Verdict = time.Since(began).Seconds(), experiments.WorstOf(result.Runs)
	return c.finish(ctx, result, std)
}

// prepare does the slow work before the first trial: it checks that the folder is writable, and builds an etcd where there is none.
func (c *labRunCommand) prepare(ctx context.Context, chosen []experiments.Experiment, say func(string)) error {
	tellOldRedis(say, c.Embedded || c.On == onDocker)
	if err := experiments.LeftOut(chosen); err != nil && os.Getenv("LAB_REQUIRE") == "all" {
		return fmt.Errorf("LAB_REQUIRE=all requires every variant: %w", err)
	}
	if err := experiments.Probe(c.Out); err != nil {
		return err
	}
	if c.On == onDocker || !experiments.Uses(chosen, experiments.Etcd) || stack.EtcdServer.Missing() != nil {
		return nil
	}
	err := preparedEtcd(ctx, say)
	if err != nil && os.Getenv("LAB_REQUIRE") != "all" {
		say(fmt.Sprintf("%v. Variants that need etcd will show nothing.", err))
		return nil
	}
	return err
}

// preparedEtcd builds an etcd where there is none. It comes before whatever has a bound on its start.
func preparedEtcd(ctx context.Context, say func(string)) error {
	return stack.PrepareEtcd(ctx, func() {
		say("No etcd is on the PATH. The lab builds one now. This takes some minutes, the first time only.")
	})
}

// here keeps what runs where it is to run, and fails when something that it needs is missing.
func (c *labRunCommand) here(
	ctx context.Context, chosen []experiments.Experiment, std streams,
) (kept []experiments.Experiment, left []string, err error) {
	kept = chosen
	switch {
	case c.On == onDocker:
		kept, left, err = c.contained(claims.All(), chosen)
	case c.Embedded:
		kept, left, err = c.embedded(chosen)
	}
	if err != nil {
		return nil, nil, misuse("%w", err)
	}
	if c.On == onDocker {
		return kept, left, c.engineIsWell(ctx, std)
	}
	if err := c.missing(kept, stack.RealRedis()); err != nil {
		return nil, nil, unavailable(err)
	}
	return kept, left, nil
}

// engineIsWell looks for Docker and the image of Redis, before any container is made.
func (c *labRunCommand) engineIsWell(ctx context.Context, std streams) error {
	project, err := compose.Load(ctx, c.Dir, "")
	if err != nil {
		return misuse("%w", err)
	}
	c.image = project.Variable("REDIS_IMAGE")
	needs := func(image string) bool { return image == c.image }
	return hindered(ctx, std, c.Dir, project, needs, "docker", "compose", "images")
}

func (c *labRunCommand) options() (o experiments.Options, err error) {
	self, err := os.Executable()
	if err != nil {
		return o, err
	}
	clock := uint64(time.Now().UnixNano()) % shortSeed
	o = experiments.Options{
		Trials: c.trials(0), Seed: *cmp.Or(c.Seed, &clock), Real: stack.RealRedis() && !c.Embedded,
		App: []string{self, "serve"}, Build: build(), Quick: c.Quick, Store: c.Out,
	}
	if c.Quick {
		o.Trials = c.trials(1)
	}
	if c.On == onDocker {
		o.Image = c.image
		o.Docker, err = filepath.Abs(c.Dir)
	}
	return o, err
}

// finish prints, and says with the exit status what it came to.
func (c *labRunCommand) finish(ctx context.Context, result *experiments.Results, std streams) error {
	var reported error
	result.Report, reported = html.Write(c.Out, result.Runs, claims.All())
	err := errors.Join(printed(std, c.JSON, result, terminal.Results), reported, result.NotSaved())
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, errors.Join(errors.New("interrupted: what was recorded is kept, and shows nothing"), err)}
	case result.Verdict == experiments.Unexpected && err != nil:
		return exitError{exitUnexpected, err}
	case err != nil:
		return unavailable(err)
	}
	return verdictExit(result.Verdict, "")
}

// reproduce is the command that runs all of it again.
func (c *labRunCommand) reproduce(seed uint64) string {
	words := slices.Clone(c.IDs)
	for _, flag := range []struct {
		given bool
		text  string
	}{{c.All, "--all"}, {c.Quick, "--quick"}, {c.Article != "", "--article " + c.Article}} {
		if flag.given {
			words = append(words, flag.text)
		}
	}
	return c.command(words, c.trials(0), seed)
}

// reproduceOne is the command that runs one experiment again. A flag that chose it may have changed its number of trials.
func (c *labRunCommand) reproduceOne(e experiments.Experiment, o experiments.Options) string {
	trials := o.TrialsOf(e)
	if trials == (experiments.Options{}).TrialsOf(e) {
		trials = 0
	}
	return c.command([]string{e.ID}, trials, o.Seed)
}

// command runs what is chosen as it was run; with 0 trials, as often as is each experiment's own.
func (c *labRunCommand) command(chosen []string, trials int, seed uint64) string {
	words := append([]string{self(), "lab", "run"}, chosen...)
	if trials > 0 {
		words = append(words, fmt.Sprintf("--trials %d", trials))
	}
	if c.Embedded {
		words = append(words, "--embedded")
	}
	if c.On == onDocker {
		words = append(words, "--on docker")
		if c.Dir != "." {
			words = append(words, "--dir "+c.Dir)
		}
	}
	return strings.Join(append(words, fmt.Sprintf("--seed %d", seed)), " ")
}
