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

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/report/html"
	"locklab/lab/report/terminal"
	"locklab/lab/servers"
	"locklab/lab/servers/compose"
)

type labRunCommand struct {
	selection
	Trials   *int    `placeholder:"N" help:"Number of trials per variant, from 1 to 1000 (default: set by the experiment, usually 3)."`
	Seed     *uint64 `placeholder:"N" help:"Random seed (default: derived from the clock and printed)."`
	Out      string  `default:"store" env:"LAB_STORE" placeholder:"FOLDER" help:"Folder to save runs in."`
	Parallel int     `default:"6" placeholder:"N" help:"Number of experiments to run at the same time, from 1 to 8."`
	Embedded bool    `help:"Use the embedded miniredis even if redis-server is installed; other servers stay real."`
	On       string  `default:"processes" enum:"processes,docker" placeholder:"WHERE" help:"Where to run Redis: processes, or docker for containers in their own Compose project."`
	checkout
	JSON bool `name:"json" help:"Print the results as JSON."`
}

const (
	maxTrials   = 1000
	maxParallel = 8
	seedLimit   = 1_000_000 // seeds below it are short enough to type
	onDocker    = "docker"  // value of --on
)

func (c *labRunCommand) validate() error {
	switch {
	case c.Embedded && c.On == onDocker:
		return usageErrorf("--embedded does not work with --on docker; drop one of the two")
	case c.Out == "":
		return usageErrorf("--out is empty; set it to a folder for the saved runs")
	}
	return cmp.Or(validateRange("--trials", c.trials(1), 1, maxTrials), validateRange("--parallel", c.Parallel, 1, maxParallel))
}

// trials returns the value of --trials, or fallback if it is not set.
func (c *labRunCommand) trials(fallback int) int { return *cmp.Or(c.Trials, &fallback) }

// Run runs the chosen experiments, saves each one when it ends, and prints the verdicts.
func (c *labRunCommand) Run(ctx context.Context, std streams) error {
	if err := c.validate(); err != nil {
		return err
	}
	chosen, err := c.choose(claims.All())
	if err != nil {
		return usageErrorf("%w", err)
	}
	if err := requirePrograms(chosen); err != nil {
		return err
	}
	options, err := c.options()
	if err != nil {
		return unavailable(err)
	}
	result := &lab.Results{Build: build()}
	if chosen, result.LeftOut, err = c.runnable(chosen, options, c.Embedded); err == nil && c.On == onDocker {
		options.Image, err = c.checkContainers(ctx, std)
	}
	if err != nil {
		return err
	}
	warnOldRedis(std.say, c.Embedded || c.On == onDocker)
	if err := commandError(ctx, lab.Probe(c.Out), "no experiment was begun"); err != nil {
		return err
	}
	options.Pace, err = lab.MeasurePace(ctx)
	if err := commandError(ctx, err, "no experiment was begun"); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "Pace: %s.\n", screen(std.err).Fit(options.Pace.String(), 6))
	result.Seed, result.Redis, result.Pace, result.Command = options.Seed, options.Engine(), options.Pace, c.reproduce(options.Seed)
	began, tell := time.Now(), terminal.NewProgress(std.err, wantsColour(std.err), chosen, c.Parallel, options)
	result.Runs = lab.RunAll(ctx, chosen, c.Parallel, func(e lab.Experiment) lab.Result {
		mine := options
		mine.Command, mine.Tell = c.reproduceOne(e, options), tell.Tell
		return lab.Run(ctx, e, mine)
	})
	tell.Done()
	result.Took, result.Verdict = time.Since(began).Seconds(), lab.WorstOf(result.Runs)
	return c.finish(ctx, result, std)
}

// requirePrograms is an error when LAB_REQUIRE=all, and this machine lacks a program that one of the experiments or variants needs.
func requirePrograms(chosen []lab.Experiment) error {
	if os.Getenv("LAB_REQUIRE") != "all" {
		return nil
	}
	here := lab.Here()
	if missing := append(here.Obstacles(chosen), here.WouldLeaveOut(chosen...)...); len(missing) > 0 {
		return unavailable(fmt.Errorf("LAB_REQUIRE=all requires every program: %s", strings.Join(missing, "; ")))
	}
	return nil
}

// checkContainers checks that Docker works and has the image of Redis, which it returns.
func (c *labRunCommand) checkContainers(ctx context.Context, std streams) (image string, err error) {
	project, err := compose.Load(ctx, c.Dir, "")
	if err != nil {
		return "", loadError(err)
	}
	image = project.Files.Services["redis-single"].Image
	needsImage := func(other string) bool { return other == image }
	return image, checkDocker(ctx, std, c.Dir, project, needsImage, "docker", "compose", "images")
}

func (c *labRunCommand) options() (o lab.Options, err error) {
	self, err := os.Executable()
	if err != nil {
		return o, err
	}
	clock := uint64(time.Now().UnixNano()) % seedLimit
	o = lab.Options{
		Trials: c.trials(0), Seed: *cmp.Or(c.Seed, &clock), Real: servers.RealRedis() && !c.Embedded,
		App: []string{self, "serve"}, Build: build(), Quick: c.Quick, Store: c.Out,
	}
	if c.Quick {
		o.Trials = c.trials(1)
	}
	if c.On == onDocker {
		o.Docker, err = filepath.Abs(c.Dir)
	}
	return o, err
}

// finish writes the report, prints the results, and returns the error of the verdict.
func (c *labRunCommand) finish(ctx context.Context, result *lab.Results, std streams) error {
	var reported error
	result.Report, reported = html.Write(c.Out, result.Runs, claims.All())
	err := errors.Join(printResult(std, c.JSON, result, terminal.Results), reported, result.NotSaved())
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, errors.Join(errors.New("interrupted: the recordings are saved, but without a verdict"), err)}
	case result.Verdict == lab.Unexpected && err != nil:
		return exitError{exitUnexpected, err}
	case err != nil:
		return unavailable(err)
	}
	return verdictError(result.Verdict, "")
}

// reproduce returns the command line that repeats the whole run.
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
	return c.commandLine(words, c.trials(0), seed)
}

// reproduceOne returns the command line that repeats one experiment with as many trials as in this run.
func (c *labRunCommand) reproduceOne(e lab.Experiment, o lab.Options) string {
	trials := o.TrialsOf(e)
	if trials == (lab.Options{}).TrialsOf(e) {
		trials = 0
	}
	return c.commandLine([]string{e.ID}, trials, o.Seed)
}

// commandLine returns the command line that runs chosen with the flags of c. With 0 trials, each experiment uses its own number.
func (c *labRunCommand) commandLine(chosen []string, trials int, seed uint64) string {
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
