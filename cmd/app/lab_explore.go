package main

import (
	"cmp"
	"context"

	"locklab/internal/progress"
	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/explore"
	"locklab/lab/report/terminal"
)

type labExploreCommand struct {
	ID       string `arg:"" completion-predictor:"experiment" help:"Id of the experiment, such as L03."`
	Clients  string `default:"" enum:",AB,ABC" placeholder:"AB|ABC" help:"Clients to simulate (default: set by the experiment)."`
	Deaths   *int   `placeholder:"N" help:"Number of clients that may die, each before any of its steps, up to 3 (default: set by the experiment)."`
	Expiries *int   `placeholder:"N" help:"Number of times that all leases may expire, up to 3 (default: set by the experiment)."`
	Lost     *int   `placeholder:"N" help:"Number of acquire replies that may be lost, up to 3 (default: set by the experiment)."`
	JSON     bool   `name:"json" help:"Print the results as JSON."`
}

// maxEvents limits each kind of fault, because the number of interleavings grows fast.
const maxEvents = 3

func (c *labExploreCommand) Run(ctx context.Context, std streams) error {
	e, err := claims.All().Find(c.ID)
	given := c.bounds(explore.Bounds{})
	switch played := len(e.Played()) > 0; {
	case played && given != (explore.Bounds{}):
		return usageErrorf("the interleavings of %s are fixed; drop --clients, --deaths, --expiries and --lost", e.ID)
	case !played:
		e, err = findWithSteps(c.ID)
	}
	if err != nil {
		return err
	}
	if err := cmp.Or(
		validateRange("--deaths", given.Deaths, 0, maxEvents), validateRange("--expiries", given.Expiry, 0, maxEvents),
		validateRange("--lost", given.Lost, 0, maxEvents),
	); err != nil {
		return err
	}
	tell := progress.New(std.err)
	result, err := e.ExploreAll(ctx, c.bounds, func(now lab.Exploring) {
		tell.Weighted(now.Number, now.All, 0, now.String()) // no estimate: locks take very different times
	})
	tell.Done()
	if ctx.Err() != nil {
		return commandError(ctx, nil, "not every interleaving was tried, so there is no result")
	}
	if err != nil {
		return exitError{exitInconclusive, err}
	}
	for i, l := range result.Locks {
		if l.Played {
			result.Locks[i].Command = self() + " lab run " + e.ID
		} else if l.Counterexample != nil {
			result.Locks[i].Command = stepCommand(e.ID, l.Lock, l.Clients, l.Counterexample)
		}
	}
	if err := printResult(std, c.JSON, result, terminal.Exploration); err != nil || result.Verdict == nil { // no claim, no verdict
		return err
	}
	return verdictError(*result.Verdict, "")
}

// bounds returns b with the bounds that flags set.
func (c *labExploreCommand) bounds(b explore.Bounds) explore.Bounds {
	b.Clients = cmp.Or(c.Clients, b.Clients)
	b.Deaths, b.Expiry, b.Lost = *cmp.Or(c.Deaths, &b.Deaths), *cmp.Or(c.Expiries, &b.Expiry), *cmp.Or(c.Lost, &b.Lost)
	return b
}

// findWithSteps finds an experiment whose locks are lists of steps.
func findWithSteps(id string) (lab.Experiment, error) {
	e, err := claims.All().Find(id)
	if err == nil {
		err = e.WithSteps(claims.All())
	}
	if err != nil {
		return e, usageErrorf("%w", err)
	}
	return e, nil
}
