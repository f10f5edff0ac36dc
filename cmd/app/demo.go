package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/stack"
)

// demoCommand holds the settings of the demo.
type demoCommand struct {
	Users    int           `default:"666" placeholder:"N" help:"Page views at once; an even number, so that each instance gets half (${default})."`
	Drivers  int           `default:"20" placeholder:"N" help:"Drivers who want the same order; an even number (${default})."`
	Rounds   int           `default:"1" placeholder:"N" help:"How often to do it all (${default})."`
	Versions []string      `default:"v0,v1,v2,v3,v4" placeholder:"vN" help:"Which versions to run (${default})."`
	Topology string        `default:"single" enum:"single,master-slave,sentinel,cluster" placeholder:"KIND" help:"How to arrange Redis: ${enum}; all but single need a real redis-server (${default})."`
	Think    time.Duration `default:"100ms" help:"Time a driver thinks between reading and writing the order (${default})."`
	Listen   string        `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Where the balancer listens; port 0 takes a free one (${default})."`
	JSON     bool          `name:"json" help:"Print the results as JSON, for programs."`
	Keep     bool          `help:"Leave everything running afterwards, until Ctrl-C."`
	Embedded bool          `help:"Use miniredis although a redis-server is there."`
}

// Bounds of the demo.
const (
	redlockNodes = 5
	mostUsers    = 10000
	startWithin  = time.Minute     // everything, a cluster too
	burstWithin  = 2 * time.Minute // one burst; far above what the instances allow
)

func (c *demoCommand) validate() error {
	for _, n := range []struct {
		flag             string
		value, min, most int
	}{{"--users", c.Users, 2, mostUsers}, {"--drivers", c.Drivers, 2, mostUsers}, {"--rounds", c.Rounds, 1, 1000}} {
		if n.value < n.min || n.value > n.most {
			return misuse("%s is %d; allowed is from %d to %d", n.flag, n.value, n.min, n.most)
		}
		if n.value%2 != 0 && n.flag != "--rounds" {
			return misuse("%s is %d; it must be even, so that each instance gets exactly half", n.flag, n.value)
		}
	}
	if len(c.Versions) == 0 {
		return misuse("--versions is empty; allowed are v0, v1, v2, v3, v4")
	}
	for i, v := range c.Versions {
		if v < "v0" || v > "v4" || len(v) != 2 {
			return misuse("--versions names %q; allowed are v0, v1, v2, v3, v4", v)
		}
		if slices.Contains(c.Versions[:i], v) {
			return misuse("--versions names %s twice; --rounds repeats", v)
		}
	}
	if c.Think < 0 || c.Think > 10*time.Second {
		return misuse("--think is %s; allowed is from 0s to 10s", c.Think)
	}
	if c.Topology != "single" && c.Embedded {
		return misuse("--embedded is given with --topology %s; miniredis has single only: drop one of the two", c.Topology)
	}
	if c.Topology != "single" && !stack.RealRedis() {
		return unavailable(fmt.Errorf("--topology %s needs a real redis-server on the PATH (Debian: apt-get install redis-server; macOS: brew install redis)", c.Topology))
	}
	return address("--listen", c.Listen)
}

// Run starts the stack, runs every version, prints what was left, and stops the stack.
func (c *demoCommand) Run(ctx context.Context, std streams) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	tell := newProgress(std.err)
	s, err := stack.New()
	if err != nil {
		return unavailable(err)
	}
	defer func() {
		tell.step("stopping")
		err = errors.Join(err, s.Close())
		tell.done()
	}()
	result, err := c.play(ctx, s, tell)
	tell.done()
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, errors.New("interrupted: nothing is judged")}
	case err != nil:
		return unavailable(err)
	}
	if err := c.print(result, std); err != nil {
		return err
	}
	if c.Keep {
		fmt.Fprint(std.err, result.keeping())
		<-ctx.Done()
	}
	return result.exit()
}

// play is the demo itself. An error means that it could not be played to its end.
func (c *demoCommand) play(ctx context.Context, s *stack.Stack, tell *progress) (*demoResult, error) {
	began := time.Now()
	result, err := c.start(ctx, s, tell)
	if err != nil {
		return nil, err
	}
	tell.step("warming up: a burst that does not count opens every connection")
	warming, cancel := context.WithTimeout(ctx, burstWithin)
	defer cancel()
	if _, err := experiments.RunPageview(warming, result.URL, "v0", c.Users); err != nil {
		return nil, err
	}
	for round := range c.Rounds {
		for _, claim := range experiments.Claims() {
			if !slices.Contains(c.Versions, claim.Version) {
				continue
			}
			tell.step("round %d of %d, %s: %d page views at once, then %d drivers for one order", round+1, c.Rounds, claim.Version, c.Users, c.Drivers)
			if err := c.try(ctx, round+1, claim, result); err != nil {
				return nil, fmt.Errorf("%s: %w", claim.Version, err)
			}
		}
	}
	result.judge()
	result.TookMS = time.Since(began).Milliseconds()
	return result, nil
}

// try lets both bursts loose on one version.
func (c *demoCommand) try(ctx context.Context, round int, claim experiments.Claim, result *demoResult) error {
	ctx, cancel := context.WithTimeout(ctx, burstWithin)
	defer cancel()
	views, err := experiments.RunPageview(ctx, result.URL, claim.Version, c.Users)
	if err != nil {
		return err
	}
	grabs, err := experiments.RunOrder(ctx, result.URL, claim.Version, c.Drivers)
	if err != nil {
		return err
	}
	result.add(round, claim, views, grabs)
	return nil
}

// print writes the results the way that was asked for.
func (c *demoCommand) print(result *demoResult, std streams) error {
	if c.JSON {
		encoder := json.NewEncoder(std.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(result)
	}
	_, err := fmt.Fprint(std.out, result.text(colours(std.out)))
	return err
}
