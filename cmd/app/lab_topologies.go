package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/redis/go-redis/v9"

	"locklab/experiments/topologies"
	"locklab/stack/compose"
)

// labTopologiesCommand holds the settings of the comparison of topologies and load tools.
type labTopologiesCommand struct {
	checkout
	Out        string   `default:"docs/topologies.md" placeholder:"FILE" help:"Where the page is written (${default})."`
	Topologies []string `default:"single,master-slave,sentinel,cluster" placeholder:"KIND" help:"Which to bring up, in this order (${default})."`
	Versions   []string `default:"v0,v1,v2,v3,v4" placeholder:"vN" help:"Which versions to fire at (${default})."`
	Tools      []string `default:"ours,k6,jmeter" placeholder:"TOOL" help:"Which load tools to fire with (${default})."`
	Users      int      `default:"666" placeholder:"N" help:"Page views at once (${default})."`
	Drivers    int      `default:"20" placeholder:"N" help:"Drivers who want the same order (${default})."`
}

// Run brings up, fires, breaks, takes down, and writes the page.
func (c *labTopologiesCommand) Run(ctx context.Context, std streams) error {
	tell := newProgress(std.err)
	cfg, err := c.config()
	if err != nil {
		return err
	}
	cfg.Tell = tell.step
	if err := c.preflight(ctx, std); err != nil {
		return err
	}
	redis.SetLogger(quiet{slog.New(slog.DiscardHandler)})
	result, err := topologies.Run(ctx, cfg)
	tell.done()
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, errors.New("interrupted: nothing is written")}
	case err != nil:
		return unavailable(err)
	}
	var page bytes.Buffer
	if err := result.Page(&page); err != nil {
		return err
	}
	if err := os.WriteFile(c.Out, page.Bytes(), 0o644); err != nil {
		return unavailable(err)
	}
	fmt.Fprintf(std.out, "%s is written; verdict of all of it: %s\n", c.Out, result.Verdict())
	return verdictExit(result.Verdict(), "see "+c.Out)
}

// config finds what cannot work, before anything is started.
func (c *labTopologiesCommand) config() (topologies.Config, error) {
	cfg := topologies.Config{Dir: c.Dir, Topologies: c.Topologies, Versions: c.Versions, Users: c.Users, Drivers: c.Drivers}
	sizes := bursts{Users: c.Users, Drivers: c.Drivers, Rounds: 1, Versions: c.Versions}
	if err := sizes.validate(); err != nil {
		return cfg, err
	}
	if folder, err := os.Stat(filepath.Dir(c.Out)); err != nil || !folder.IsDir() {
		return cfg, misuse("--out is %s, and there is no folder %s", c.Out, filepath.Dir(c.Out))
	}
	return cfg, c.choose(&cfg)
}

// preflight looks at every topology, and for the load tools.
func (c *labTopologiesCommand) preflight(ctx context.Context, std streams) error {
	for _, topology := range c.Topologies {
		project, err := compose.Load(ctx, c.Dir, topology)
		if err != nil {
			return misuse("--topologies: %w", err)
		}
		problems := hindrances(ctx, c.Dir, project, project.Starts, append(c.Tools, whole...)...)
		if ctx.Err() != nil {
			return exitError{exitInterrupted, errors.New("interrupted: nothing is written")}
		}
		if len(problems) > 0 {
			list(std.err, problems)
			return unavailable(errors.New("the lab cannot run here as it is; app doctor looks at everything"))
		}
	}
	return nil
}

// choose finds the tools by their names.
func (c *labTopologiesCommand) choose(cfg *topologies.Config) error {
	known := []string{"ours", "k6", "jmeter"}
	tools := []topologies.Tool{topologies.Ours(), topologies.K6(c.Dir), topologies.JMeter(c.Dir)}
	for _, name := range c.Tools {
		i := slices.Index(known, name)
		if i < 0 {
			return misuse("--tools names %q; allowed are ours, k6 and jmeter", name)
		}
		cfg.Tools = append(cfg.Tools, tools[i])
	}
	return nil
}
