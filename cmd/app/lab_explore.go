package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/history"
)

// labExploreCommand holds the settings of lab explore.
type labExploreCommand struct {
	ID       string `arg:"" help:"The experiment, such as L03."`
	Clients  string `placeholder:"AB|ABC" help:"How many clients there are (as the experiment has it)."`
	Deaths   *int   `placeholder:"N" help:"How many may die, each before any of its steps (as the experiment has it)."`
	Expiries *int   `placeholder:"N" help:"How often time may pass, until every expiry is over (as the experiment has it)."`
	Lost     *int   `placeholder:"N" help:"How many answers to an acquire may be lost (as the experiment has it)."`
	JSON     bool   `name:"json" help:"Print the results as JSON, for programs."`
}

// mostEvents is how many deaths, expiries or lost answers may be asked for: the orders grow fast.
const mostEvents = 3

// exploreResult is what all orders of an experiment's locks show; --json prints it.
type exploreResult struct {
	Experiment string               `json:"experiment"`
	Claim      string               `json:"claim"`
	Locks      []exploredLock       `json:"locks"`
	Verdict    *experiments.Verdict `json:"verdict,omitempty"` // the worst; without one nothing was claimed of what was asked for

	of experiments.Experiment
}

// exploredLock is what all orders of a lock show.
type exploredLock struct {
	Lock     string               `json:"lock"`
	Clients  string               `json:"clients"`
	Deaths   int                  `json:"deaths"`
	Expiries int                  `json:"expiries"`
	Lost     int                  `json:"lost_answers"`
	Breach   steps.Violation      `json:"breach"` // that is looked for
	Expect   experiments.Expect   `json:"expect"`
	Orders   *big.Int             `json:"orders"`
	Broken   *big.Int             `json:"broken"`
	States   int                  `json:"states"`
	Verdict  *experiments.Verdict `json:"verdict,omitempty"`
	Shortest string               `json:"shortest,omitempty"` // order that breaks
	Command  string               `json:"command,omitempty"`  // that plays it
	Events   []history.Event      `json:"events,omitempty"`   // of it

	seen string
}

// Run tries every order of every lock of the experiment.
func (c *labExploreCommand) Run(ctx context.Context, std streams) error {
	e, err := withOrders(c.ID)
	if err != nil {
		return err
	}
	if err := c.validate(); err != nil {
		return err
	}
	tell := newProgress(std.err)
	result := &exploreResult{Experiment: e.ID, Claim: e.Claim, of: e}
	var verdicts []experiments.Verdict
	for _, o := range e.Interleavings {
		if tell.terminal {
			tell.step("every order of %s", o.Lock.Name)
		}
		lock, err := c.explore(ctx, e, o)
		if err != nil {
			tell.done()
			if ctx.Err() != nil {
				return exitError{exitInterrupted, errors.New("interrupted: not every order was tried, and nothing is shown")}
			}
			return err
		}
		if result.Locks = append(result.Locks, lock); lock.Verdict != nil {
			verdicts = append(verdicts, *lock.Verdict)
		}
	}
	tell.done()
	if len(verdicts) > 0 {
		worst := experiments.Worst(verdicts...)
		result.Verdict = &worst
	}
	if err := result.print(c.JSON, std); err != nil {
		return err
	}
	return result.exit()
}

func (c *labExploreCommand) validate() error {
	if c.Clients != "" {
		if err := clientsOf(c.Clients); err != nil {
			return err
		}
	}
	for _, n := range []struct {
		flag  string
		value *int
	}{{"deaths", c.Deaths}, {"expiries", c.Expiries}, {"lost", c.Lost}} {
		if n.value != nil && (*n.value < 0 || *n.value > mostEvents) {
			return misuse("--%s is %d; allowed are 0 to %d", n.flag, *n.value, mostEvents)
		}
	}
	return nil
}

// explore tries every order of one lock.
func (c *labExploreCommand) explore(ctx context.Context, e experiments.Experiment, o experiments.Interleavings) (exploredLock, error) {
	bounds, asked := c.bounds(o.Bounds), o
	asked.Bounds = bounds
	x, err := asked.Explore(ctx)
	if err != nil {
		return exploredLock{}, err
	}
	f := x.Found
	lock := exploredLock{
		Lock: o.Lock.Name, Clients: bounds.Clients, Deaths: bounds.Deaths, Expiries: bounds.Expiry, Lost: bounds.Lost,
		Breach: o.Violation, Expect: o.Expect, Orders: f.Interleavings, Broken: f.Violating, States: f.States, seen: f.String(),
	}
	if claimed(o, bounds) {
		lock.Verdict = &x.Verdict
	}
	if f.Counterexample != nil {
		lock.Shortest, lock.Command = steps.Text(f.Counterexample), stepCommand(e, o.Lock, bounds.Clients, f.Counterexample)
		lock.Events, _, err = steps.Replay(ctx, o.Lock, bounds.Clients, f.Counterexample)
	}
	return lock, err
}

// bounds are the experiment's, but for what was asked for.
func (c *labExploreCommand) bounds(b steps.Bounds) steps.Bounds {
	if c.Clients != "" {
		b.Clients = c.Clients
	}
	for _, n := range []struct {
		asked *int
		of    *int
	}{{c.Deaths, &b.Deaths}, {c.Expiries, &b.Expiry}, {c.Lost, &b.Lost}} {
		if n.asked != nil {
			*n.of = *n.asked
		}
	}
	return b
}

// claimed reports whether the experiment says anything about orders within b. That a lock never breaks it says for as many
// clients, and as much misfortune, as it names or less; that it breaks, for as much or more.
func claimed(o experiments.Interleavings, b steps.Bounds) bool {
	less, more := b, o.Bounds
	if o.Expect == experiments.Sometimes {
		less, more = more, less
	}
	return len(less.Clients) <= len(more.Clients) && less.Deaths <= more.Deaths && less.Expiry <= more.Expiry && less.Lost <= more.Lost
}

// exit says the worst verdict with the exit status; where nothing was claimed there is none.
func (r *exploreResult) exit() error {
	if r.Verdict == nil {
		return nil
	}
	return judgedExit(*r.Verdict)
}

// print writes the results the way that was asked for.
func (r *exploreResult) print(programs bool, std streams) error {
	if programs {
		return asJSON(std, r)
	}
	_, err := fmt.Fprint(std.out, r.text(colours(std.out)))
	return err
}

// text is the result for people: a line for each lock, and the shortest order that breaks it.
func (r *exploreResult) text(colour bool) string {
	t := newTable()
	t.AppendHeader(row("lock", "what may happen", "looked for", "all orders", "verdict"))
	for _, l := range r.Locks {
		verdict := "not claimed"
		if l.Verdict != nil {
			verdict = painted(*l.Verdict, colour)
		}
		t.AppendRow(append(row(l.Lock, l.mayHappen(), string(l.Breach), l.seen), verdict))
	}
	parts := []string{wrapped(r.Experiment+": "+r.Claim, width), render(t)}
	for _, l := range r.Locks {
		if l.Shortest != "" {
			parts = append(parts, fmt.Sprintf("%s: the shortest order, to the end of everybody, in which %s\n\n  %s\n\n%s\n  %s", l.Lock, l.Breach, l.Shortest, history.Timelines(l.Events), l.Command))
		}
	}
	return strings.Join(parts, "\n\n") + "\n\n" + key + "\n"
}

// key explains the moves.
const key = "A: its next step · A†: it dies · A?: the server executes its step, and the reply is lost · …: time passes, until every expiry is over"

// mayHappen says what the orders are made of.
func (l exploredLock) mayHappen() string {
	words := []string{strings.Join(strings.Split(l.Clients, ""), " ")}
	for _, n := range []struct {
		count int
		what  string
	}{{l.Deaths, "†"}, {l.Lost, "?"}, {l.Expiries, "…"}} {
		if n.count > 0 {
			words = append(words, strings.TrimSpace(strings.Repeat(n.what+" ", n.count)))
		}
	}
	return strings.Join(words, " ")
}
