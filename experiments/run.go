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
	Trials  int      // of each variant; 0: the experiment's own number
	Seed    uint64   // of the random decisions
	Real    bool     // use redis-server; otherwise miniredis, where an experiment allows it
	Docker  string   // the checkout whose containers serve as Redis; empty: processes
	Image   string   // of these
	App     []string // the command line of an app instance, without its flags
	Build   string   // of this program
	Command string   // that reproduces the run
	Tell    func(what string)
	Mutant  Mutant
}

// Run runs every variant of e, and records. It returns a record in every case: it contains what went wrong. When ctx ends,
// the run ends, and everything that it started is removed.
func Run(ctx context.Context, e Experiment, o Options) Record {
	began := time.Now()
	r := Record{
		Format: Format, Experiment: e.ID, Claim: e.Claim, Command: o.Command, Seed: o.Seed, Began: began.UTC(), Build: o.Build,
		Machine: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()),
		Redis:   o.Engine(),
	}
	recorder := history.NewRecorder()
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
	done := VariantRecord{Name: variant.Name, Trials: []TrialRecord{}, LeftOut: variant.leftOut()}
	trials := o.trialsOf(e, variant)
	if done.LeftOut == "" && !o.Real && slices.Contains(variant.Needs, RedisServer) {
		done.LeftOut = "needs a real redis-server, and this run uses miniredis"
	}
	if done.LeftOut != "" {
		trials = 0
	}
	for n := 1; n <= trials && ctx.Err() == nil; n++ {
		if o.Tell != nil {
			o.Tell(fmt.Sprintf("%s: %s, trial %d of %d", e.ID, variant.Name, n, trials))
		}
		t := &Trial{
			Number: n, Real: o.Real, App: o.App, checkout: o.Docker, mutant: o.Mutant, variant: variant.Name, recorder: recorder,
			Rand: rand.New(rand.NewPCG(o.Seed, uint64(i)<<32|uint64(n))),
		}
		start := time.Now()
		err := t.run(ctx, variant)
		if ctx.Err() != nil { // a trial that was cut short does not count
			r.Left = text(t.left)
			break
		}
		done.Trials = append(done.Trials, TrialRecord{Number: n, Took: time.Since(start), Err: text(err)})
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

// contained is the beginning of what Engine says of containers.
const contained = "containers of "

// Engine says what serves as Redis.
func (o Options) Engine() string {
	if o.Docker != "" {
		return contained + o.Image
	}
	return stack.Engine(o.Real)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
