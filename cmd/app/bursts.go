package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"locklab/experiments/burst"
	"locklab/versions"
)

// bursts are the requests that the demo and app burst let loose, version by version.
type bursts struct {
	Users    int      `default:"666" placeholder:"N" help:"Page views at once; an even number, so that each instance gets half (${default})."`
	Drivers  int      `default:"20" placeholder:"N" help:"Drivers who want the same order; an even number (${default})."`
	Rounds   int      `default:"1" placeholder:"N" help:"How often to do it all (${default})."`
	Versions []string `default:"v0,v1,v2,v3,v4" placeholder:"vN" help:"Which versions to run (${default})."`
	JSON     bool     `name:"json" help:"Print the results as JSON, for programs."`
}

// Bounds of the bursts.
const (
	mostUsers   = 10000
	burstWithin = 2 * time.Minute // one burst; far above what the instances allow
)

func (b *bursts) validate() error {
	for _, n := range []struct {
		flag             string
		value, min, most int
	}{{"--users", b.Users, 2, mostUsers}, {"--drivers", b.Drivers, 2, mostUsers}, {"--rounds", b.Rounds, 1, 1000}} {
		if n.value < n.min || n.value > n.most {
			return misuse("%s is %d; allowed is from %d to %d", n.flag, n.value, n.min, n.most)
		}
		if n.value%2 != 0 && n.flag != "--rounds" {
			return misuse("%s is %d; it must be even, so that each instance gets exactly half", n.flag, n.value)
		}
	}
	if len(b.Versions) == 0 {
		return misuse("--versions is empty; allowed are v0, v1, v2, v3, v4")
	}
	for i, v := range b.Versions {
		if _, known := versions.Find(v); !known {
			return misuse("--versions names %q; allowed are v0, v1, v2, v3, v4", v)
		}
		if slices.Contains(b.Versions[:i], v) {
			return misuse("--versions names %s twice; --rounds repeats", v)
		}
	}
	return nil
}

// play lets the bursts loose on target and judges them into result. An error means that they could
// not be played to their end.
func (b *bursts) play(ctx context.Context, target burst.Target, result *burstsResult, tell *progress) error {
	result.Users, result.Drivers, result.Rounds = b.Users, b.Drivers, b.Rounds
	tell.step("warming up: a burst that does not count opens every connection")
	warming, cancel := context.WithTimeout(ctx, burstWithin)
	defer cancel()
	if _, err := burst.RunViews(warming, target, "v0", b.Users, burst.Simultaneous); err != nil {
		return err
	}
	for round := range b.Rounds {
		for _, claim := range versions.All() {
			if !slices.Contains(b.Versions, claim.Name) {
				continue
			}
			tell.step("round %d of %d, %s: %d page views at once, then %d drivers for one order", round+1, b.Rounds, claim.Name, b.Users, b.Drivers)
			if err := b.try(ctx, round+1, claim, target, result); err != nil {
				return fmt.Errorf("%s: %w", claim.Name, err)
			}
		}
	}
	result.judge()
	return nil
}

// try lets both bursts loose on one version.
func (b *bursts) try(ctx context.Context, round int, claim versions.Version, target burst.Target, result *burstsResult) error {
	ctx, cancel := context.WithTimeout(ctx, burstWithin)
	defer cancel()
	views, err := burst.RunViews(ctx, target, claim.Name, b.Users, burst.Simultaneous)
	if err != nil {
		return err
	}
	grabs, err := burst.RunGrabs(ctx, target, claim.Name, b.Drivers, burst.Simultaneous)
	if err != nil {
		return err
	}
	result.add(round, claim, views, grabs)
	return nil
}

// print writes the results the way that was asked for.
func (b *bursts) print(result *burstsResult, std streams) error {
	if b.JSON {
		encoder := json.NewEncoder(std.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(result)
	}
	_, err := fmt.Fprint(std.out, result.text(colours(std.out)))
	return err
}
