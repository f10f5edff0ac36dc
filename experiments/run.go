package experiments

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"locklab/history"
	"locklab/stack"
)

// Options are how experiments are run.
type Options struct {
	Trials  int                             // of each variant; 0: the experiment's own number
	Seed    uint64                          // of the random decisions
	Quick   bool                            // leave out the variants that are slow
	Real    bool                            // use redis-server; otherwise miniredis, where an experiment allows it
	Docker  string                          // the checkout whose containers serve as Redis; empty: processes
	Image   string                          // of these
	App     []string                        // the command line of an app instance, without its flags
	Pace    Pace                            // of this machine; 0: that of a quiet one
	Once    bool                            // repeat no trial that was late, because what is tried may be late by itself
	Build   string                          // of this program
	Command string                          // that reproduces the run
	Tell    func(e Experiment, what string) // a trial begins
	Mutant  Mutant
	History *history.Recorder // for somebody who looks on while it runs; nil: a new one
}

// Run runs every variant of e, and records. It returns a record in every case: it contains what went wrong. When ctx ends,
// the run ends, and everything that it started is removed.
func Run(ctx context.Context, e Experiment, o Options) Record {
	began := time.Now()
	r := Record{
		Format: Format, Experiment: e.ID, Claim: e.Claim, Command: o.Command, Seed: o.Seed, Began: began.UTC(), Build: o.Build,
		Machine: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()),
		Redis:   o.Engine(), Containers: o.Docker != "", Pace: o.Pace,
	}
	recorder := cmp.Or(o.History, history.NewRecorder())
	for i := range e.Variants {
		r.Variants = append(r.Variants, e.runVariant(ctx, i, o, recorder, &r))
	}
	r.Interrupted = ctx.Err() != nil
	r.Events, r.Took = recorder.Events(), time.Since(began)
	r.Count = len(r.Events)
	return r
}

// runVariant runs the trials of a variant, and adds to r what does not belong to one of them.
func (e Experiment) runVariant(ctx context.Context, i int, o Options, recorder *history.Recorder, r *Record) VariantRecord {
	variant := e.Variants[i]
	done := VariantRecord{Name: variant.Name, Trials: []TrialRecord{}, LeftOut: o.leavesOut(variant)}
	trials := o.trialsOf(e, variant)
	if done.LeftOut != "" {
		trials = 0
	}
	pace := o.Pace
	for n, repeats := 1, 0; n <= trials && ctx.Err() == nil; {
		if o.Tell != nil {
			o.Tell(e, fmt.Sprintf("%s: %s, trial %d of %d%s", e.ID, variant.Name, n, trials, repetition(repeats)))
		}
		t := &Trial{
			Number: len(done.Trials) + 1, Real: o.Real, App: o.App, checkout: o.Docker, mutant: o.Mutant, pace: pace,
			variant: variant.Name, recorder: recorder,
		}
		t.Rand = rand.New(rand.NewPCG(o.Seed, uint64(i)<<32|uint64(t.Number)))
		start := time.Now()
		err := t.run(ctx, variant)
		if ctx.Err() != nil { // a trial that was cut short does not count
			r.Left = text(t.left)
			break
		}
		one := TrialRecord{Number: t.Number, Took: time.Since(start), Err: text(err)}
		if repeats > 0 {
			one.Repeats = t.Number - 1
		}
		if pace != o.Pace {
			one.Pace = pace
		}
		if repeats < MostRepeats && !(o.Once && err != nil) && e.mustRepeat(variant, t, err) {
			repeats++
			if one.Late = err != nil; one.Late {
				pace = pace.slower()
			}
		} else {
			n, repeats = n+1, 0
		}
		done.Trials = append(done.Trials, one)
	}
	return done
}

// TrialsOf is how often each variant of e runs that has no number of its own.
func (o Options) TrialsOf(e Experiment) int {
	return cmp.Or(max(o.Trials, 0), e.Trials, 3)
}

// trialsOf is how often a variant of e runs.
func (o Options) trialsOf(e Experiment, v Variant) int {
	return cmp.Or(max(o.Trials, 0), v.Trials, o.TrialsOf(e))
}

// leavesOut says why a variant does not run; empty: it runs.
func (o Options) leavesOut(v Variant) string {
	switch reason := v.leftOut(); {
	case reason != "":
		return reason
	case !o.Real && slices.Contains(v.Needs, RedisServer):
		return "needs a real redis-server, and this run uses miniredis"
	case o.Quick && v.Slow:
		return "is slow, and --quick leaves it out"
	}
	return ""
}

// Engine says what serves as Redis.
func (o Options) Engine() string {
	if o.Docker != "" {
		return "containers of " + o.Image
	}
	return stack.Engine(o.Real)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
