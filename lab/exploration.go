package lab

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

// Exploration is what all interleavings of an experiment's locks show. `app lab explore --json` prints it.
type Exploration struct {
	Experiment string         `json:"experiment"`
	Claim      string         `json:"claim"`
	Locks      []ExploredLock `json:"locks"`
	Verdict    *Verdict       `json:"verdict,omitempty"` // the worst; without one nothing is claimed within the bounds
}

// ExploredLock is what all interleavings of a lock show.
type ExploredLock struct {
	Lock string `json:"lock"`
	explore.Bounds
	Violation explore.Violation `json:"violation"` // that is looked for
	Expect    Expect            `json:"expect"`
	explore.Found
	Verdict  *Verdict        `json:"verdict,omitempty"`
	Shortest string          `json:"shortest,omitempty"` // interleaving that violates
	Command  string          `json:"command,omitempty"`  // that plays it; the caller fills it in
	Played   bool            `json:"-"`                  // it is a variant, whose run plays them all
	Events   []history.Event `json:"events,omitempty"`   // of it
}

// Exploring is told before the interleavings of a lock are tried.
type Exploring struct {
	Lock        string
	Number, All int      // the n-th of all locks
	Tried       *big.Int // interleavings of the locks before it
}

// String says what is tried.
func (e Exploring) String() string {
	if e.Tried.Sign() == 0 {
		return "every interleaving of " + e.Lock
	}
	return fmt.Sprintf("every interleaving of %s; %s tried so far", e.Lock, e.Tried)
}

// ExploreAll tries every interleaving of every lock of the experiment. bounded returns the bounds of a lock from those that the experiment
// names. An error means that not all were tried.
func (e Experiment) ExploreAll(
	ctx context.Context, bounded func(explore.Bounds) explore.Bounds, tell func(Exploring),
) (*Exploration, error) {
	x := &Exploration{Experiment: e.ID, Claim: e.Claim}
	var verdicts []Verdict
	played := e.Played()
	begins := func(lock string) {
		tell(Exploring{lock, len(x.Locks) + 1, len(e.Interleavings) + len(played), x.tried()})
	}
	for _, i := range e.Interleavings {
		begins(i.Lock.Name)
		l, err := i.explored(ctx, bounded(i.Bounds))
		if err != nil {
			return nil, err
		}
		if x.Locks = append(x.Locks, l); l.Verdict != nil {
			verdicts = append(verdicts, *l.Verdict)
		}
	}
	for _, v := range played {
		begins(v.Name)
		l, err := e.explorePlayed(ctx, v)
		if err != nil {
			return nil, err
		}
		x.Locks, verdicts = append(x.Locks, l), append(verdicts, *l.Verdict)
	}
	if len(verdicts) > 0 {
		worst := Worst(verdicts...)
		x.Verdict = &worst
	}
	return x, nil
}

// tried is how many interleavings were tried so far.
func (x *Exploration) tried() *big.Int {
	all := new(big.Int)
	for _, l := range x.Locks {
		all.Add(all, l.Interleavings)
	}
	return all
}

func (i Interleavings) explored(ctx context.Context, b explore.Bounds) (l ExploredLock, err error) {
	claimed := i.claims(b)
	i.Bounds = b
	x, err := i.Explore(ctx)
	if err != nil {
		return l, err
	}
	l = ExploredLock{Lock: i.Lock.Name, Bounds: b, Violation: i.Violation, Expect: i.Expect, Found: x.Found}
	if claimed {
		l.Verdict = &x.Verdict
	}
	if moves := x.Found.Counterexample; moves != nil {
		l.Shortest = explore.Text(moves)
		l.Events, _, err = explore.Replay(ctx, i.Lock, b.Clients, moves)
	}
	return l, err
}

// Searches are those of a lock, within the bounds of the experiment. Expected violations come first.
func (e Experiment) Searches(lock articlelock.Lock) (all []explore.Search) {
	for _, expect := range []Expect{Sometimes, Never} {
		for _, i := range e.Interleavings {
			if i.Expect == expect && i.Lock.Name == lock.Name {
				all = append(all, explore.Search{Bounds: i.Bounds, Violation: i.Violation, Expected: expect == Sometimes})
			}
		}
	}
	return all
}

// Played are the variants that play every interleaving.
func (e Experiment) Played() []Variant {
	return slices.DeleteFunc(slices.Clone(e.Variants), func(v Variant) bool { return v.Every == "" })
}

// explorePlayed runs a variant that plays every interleaving, once. All have the same length, so the first that violates is the shortest.
func (e Experiment) explorePlayed(ctx context.Context, v Variant) (ExploredLock, error) {
	e.Variants = []Variant{v}
	r := Run(ctx, e, Options{Trials: 1})
	if len(r.Judgement.Variants) == 0 { // its check has failed
		return ExploredLock{}, errors.New(r.Judgement.Why)
	}
	j := r.Judgement.Variants[0]
	if j.Verdict == Inconclusive {
		return ExploredLock{}, errors.New(j.Why)
	}
	played, violating, begin := 0, 0, 0
	l := ExploredLock{Lock: v.Name, Violation: v.Every, Expect: v.Expect, Verdict: &j.Verdict, Played: true}
	for i, h := range r.Record.Events {
		switch {
		case h.Name == history.Interleaving:
			played, begin = played+1, i
		case v.Every.Mark().In(h):
			if violating++; violating == 1 {
				l.Shortest, l.Events = r.Record.Events[begin].Text, r.Record.Events[begin+1:i]
			}
		}
	}
	l.Interleavings, l.Violating = big.NewInt(int64(played)), big.NewInt(int64(violating))
	return l, nil
}

// claims reports whether the experiment says anything about interleavings within b. The absence of a violation also covers fewer
// clients and faults than it names. A violation also covers more.
func (i Interleavings) claims(b explore.Bounds) bool {
	less, more := b, i.Bounds
	if i.Expect == Sometimes {
		less, more = more, less
	}
	return len(less.Clients) <= len(more.Clients) && less.Deaths <= more.Deaths && less.Expiry <= more.Expiry && less.Lost <= more.Lost
}

// WithSteps is an error when the experiment has no lock that is a list of steps; it names those of all that have one.
func (e Experiment) WithSteps(all []Experiment) error {
	if len(e.Interleavings) > 0 {
		return nil
	}
	var others []string
	for _, o := range all {
		if len(o.Interleavings) > 0 {
			others = append(others, o.ID)
		}
	}
	return fmt.Errorf("%s has no lock that is a list of steps. These have: %s", e.ID, strings.Join(others, ", "))
}

// Locks are the experiment's locks that are lists of steps, each once. Locks that are expected to violate come first.
func (e Experiment) Locks() (all []articlelock.Lock) {
	for _, expect := range []Expect{Sometimes, Never} {
		for _, i := range e.Interleavings {
			known := slices.ContainsFunc(all, func(l articlelock.Lock) bool { return l.Name == i.Lock.Name })
			if i.Expect == expect && !known {
				all = append(all, i.Lock)
			}
		}
	}
	return all
}

// Lock finds one of [Experiment.Locks] by its name, or by a part of it that no other has; without a name it is the first.
func (e Experiment) Lock(name string) (articlelock.Lock, error) {
	var found []articlelock.Lock
	var names []string
	for _, l := range e.Locks() {
		if strings.EqualFold(l.Name, name) {
			return l, nil
		}
		if strings.Contains(strings.ToLower(l.Name), strings.ToLower(name)) {
			found = append(found, l)
		}
		names = append(names, fmt.Sprintf("%q", l.Name))
	}
	if len(found) == 1 || len(found) > 0 && name == "" {
		return found[0], nil
	}
	return articlelock.Lock{}, fmt.Errorf("%q is not one lock of %s; it has %s", name, e.ID, strings.Join(names, ", "))
}
