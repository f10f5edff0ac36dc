package main

import (
	"cmp"
	"context"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/experiments/steps"
	"locklab/internal/progress"
	"locklab/report/terminal"
)

type labExploreCommand struct {
	ID       string `arg:"" completion-predictor:"experiment" help:"Experiment, such as L03."`
	Clients  string `default:"" enum:",AB,ABC" placeholder:"AB|ABC" help:"Clients to simulate (default: those of the experiment)."`
	Deaths   *int   `placeholder:"N" help:"Number of clients that may die, each before any of its steps (default: that of the experiment)."`
	Expiries *int   `placeholder:"N" help:"Number of times that every lease may expire (default: that of the experiment)."`
	Lost     *int   `placeholder:"N" help:"Number of replies to an acquire that may be lost (default: that of the experiment)."`
	JSON     bool   `name:"json" help:"Print the results as JSON, for programs."`
}

// mostEvents bounds each of the faults: the number of interleavings grows fast.
const mostEvents = 3

func (c *labExploreCommand) Run(ctx context.Context, std streams) error {
	e, err := claims.All().Find(c.ID)
	asked := c.bounds(steps.Bounds{})
	switch played := len(e.Played()) > 0; {
	case played && asked != (steps.Bounds{}):
		return misuse("the interleavings of %s are fixed: drop --clients, --deaths, --expiries and --lost", e.ID)
	case !played:
		e, err = withSteps(c.ID)
	}
	if err != nil {
		return err
	}
	if err := cmp.Or(
		within("--deaths", asked.Deaths, 0, mostEvents), within("--expiries", asked.Expiry, 0, mostEvents),
		within("--lost", asked.Lost, 0, mostEvents),
	); err != nil {
		return err
	}
	tell := progress.New(std.err)
	result, err := e.ExploreAll(ctx, c.bounds, func(now experiments.Exploring) {
		tell.Weighted(now.Number, now.All, 0, now.String()) // locks differ much
	})
	tell.Done()
	if ctx.Err() != nil {
		return stopped(ctx, nil, "not every interleaving was tried, and nothing is shown")
	}
	if err != nil { // a trial has failed
		return exitError{exitInconclusive, err}
	}
	for i, l := range result.Locks {
		if l.Played {
			result.Locks[i].Command = self() + " lab run " + e.ID
		} else if l.Counterexample != nil {
			result.Locks[i].Command = stepCommand(e, l.Lock, l.Clients, l.Counterexample)
		}
	}
	if err := printed(std, c.JSON, result, terminal.Exploration); err != nil || result.Verdict == nil { // without a claim there is no verdict
		return err
	}
	return verdictExit(*result.Verdict, "")
}

// bounds are the experiment's, except for those that a flag names.
func (c *labExploreCommand) bounds(b steps.Bounds) steps.Bounds {
	b.Clients = cmp.Or(c.Clients, b.Clients)
	b.Deaths, b.Expiry, b.Lost = *cmp.Or(c.Deaths, &b.Deaths), *cmp.Or(c.Expiries, &b.Expiry), *cmp.Or(c.Lost, &b.Lost)
	return b
}

func withSteps(id string) (experiments.Experiment, error) {
	e, err := claims.All().Find(id)
	if err == nil {
		err = e.WithSteps(claims.All())
	}
	if err != nil {
		return e, misuse("%w", err)
	}
	return e, nil
}
