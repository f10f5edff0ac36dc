package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/watch"
	"locklab/versions"
)

// Errors of a load, apart from those of package burst.
var (
	ErrLoad    = errors.New("a load runs or waits already; stop it first")
	ErrNoLoad  = errors.New("no load runs; start one first")
	ErrVersion = fmt.Errorf("choose one of these versions: %s", names(watch.Loads()))
)

func names(all []versions.Version) string {
	var text []string
	for _, v := range all {
		text = append(text, v.Name)
	}
	return strings.Join(text, ", ")
}

// Load is a load at a moment, or when it has ended.
type Load struct {
	*burst.Load
	burst.Rates
	Changes []watch.Change // of the servers, since it began
	Ended   bool

	// When it has ended:
	Err     error // why it has no result
	Views   burst.Views
	Verdict lab.Verdict
	Because string
}

// Judged reports whether a load that has ended is judged: with a change of the servers it is not, because the counter is in one of them.
func (l *Load) Judged() bool { return l.Err == nil && len(l.Changes) == 0 }

// NewLoad returns a load that Send sends.
func (b *Bench) NewLoad(version string, clients, rate int) (*burst.Load, error) {
	if _, known := watch.Load(version); !known {
		return nil, ErrVersion
	}
	l, err := burst.NewLoad(version, clients, rate)
	if err == nil && !b.sees {
		err = ErrNoInstances
	}
	return l, err
}

// Stop stops the load that is being sent, when its last answers have come, and reports whether there is one.
func (b *Bench) Stop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sent != nil {
		b.sent.Stop()
	}
	return b.sent != nil
}

// Load is the load that is being sent, with its newest seconds, or else what the last one left; nil: none.
func (b *Bench) Load(seconds int) *Load {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sent == nil {
		return b.left
	}
	return b.rates(b.sent, seconds)
}

// rates needs the mutex.
func (b *Bench) rates(l *burst.Load, seconds int) *Load {
	now := &Load{Load: l, Rates: l.Rates(seconds)}
	if !now.Began.IsZero() {
		before := func(c watch.Change) bool { return c.At.Before(now.Began) }
		now.Changes = slices.DeleteFunc(slices.Clone(b.view.changes), before)
	}
	return now
}

// Send sends a load until it ends. Before, it starts the instances if they do not run. tell is called when something has changed: what is
// being started, or else how many views are answered.
func (b *Bench) Send(ctx context.Context, l *burst.Load, tell func(starting string)) {
	var views burst.Views
	running, err := b.Service(ctx, tell)
	if err == nil {
		_ = b.Look(ctx) // a change before the load is none of it
		b.set(func() { b.sent = l })
		tell("")
		views, err = l.Send(ctx, running.Target, func(burst.Event) { tell("") })
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if began := !l.Rates(0).Began.IsZero(); began {
		// Its role may have changed since. After a stop, too, nobody knows without it whether the load can be judged.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*faultWithin) // a fault may be under way
		defer cancel()
		err = cmp.Or(err, b.Look(bounded))
	}
	b.set(func() {
		b.sent, b.left = nil, b.rates(l, int((burst.LongestLoad+burst.LastAnswers)/time.Second)+1)
		b.left.Ended, b.left.Err = true, err
		if err == nil {
			b.left.judge(views, len(running.Instances))
		}
	})
}

func (l *Load) judge(views burst.Views, instances int) {
	version, _ := watch.Load(views.Version)
	showed := views.OutcomeOf(instances)
	l.Views, l.Verdict = views, lab.Judge(burst.Expect(version), showed)
	l.Because = l.Verdict.Because(showed)
}
