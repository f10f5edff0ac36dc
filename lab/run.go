package lab

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/history"
	"locklab/lab/servers"
)

// Options are how experiments are run.
type Options struct {
	Trials  int         // of each variant; 0: the experiment's own number
	Seed    uint64      // of the random decisions
	Quick   bool        // leave out the variants that are slow
	Real    bool        // use redis-server; otherwise miniredis, where an experiment allows it
	Docker  string      // the checkout whose containers serve as Redis; empty: processes
	Image   string      // of these
	App     []string    // the command line of an app instance, without its flags
	Pace    Pace        // of this machine; 0: that of a quiet one
	Once    bool        // repeat no trial that was late, because what is tried may be late by itself
	Build   string      // of this program
	Command string      // that reproduces the run
	Store   string      // the folder where the run is saved; empty: it is not
	Tell    func(Event) // is told what happens, as it happens; nil: nobody is. See [Event]
	Mutant  redis.Hook  // in every client of Redis in the lab's own process. For tests: it takes something out of a lock
}

// run is a run that goes on.
type run struct {
	Experiment
	Options
	recorder *history.Recorder
	result   Result
}

// Run runs every variant of e, records, judges the record, and saves it where [Options] say so. It returns a result in every case: the
// record contains what went wrong. When ctx ends, the run ends, everything that it started is removed, and the record is marked as
// interrupted.
func Run(ctx context.Context, e Experiment, o Options) Result {
	began := time.Now()
	r := &run{Experiment: e, Options: o, recorder: history.NewRecorder()}
	r.result.Experiment = e
	r.result.Record = Record{
		Format: Format, Experiment: e.ID, Claim: e.Claim, Command: o.Command, Seed: o.Seed, Began: began.UTC(), Build: o.Build,
		Machine: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()),
		Redis:   o.Engine(), Containers: o.Docker != "", Pace: o.Pace,
	}
	r.recorder.Added = func(h history.Event) { r.tell(Stepped{e.ID, h}) }
	trials, takes := o.Work(e)
	r.tell(Started{e.ID, trials, takes})
	record := &r.result.Record
	for i := range e.Variants {
		record.Variants = append(record.Variants, r.variant(ctx, i))
	}
	record.Interrupted = ctx.Err() != nil
	record.Events, record.Took = r.recorder.Events(), time.Since(began)
	record.Count = len(record.Events)
	r.end()
	return r.result
}

// end judges and saves what was recorded.
func (r *run) end() {
	r.result.Judgement = r.Judge(r.result.Record)
	if r.Store != "" {
		var err error
		if r.result.Dir, err = Save(r.Store, r.result.Record, r.result.Judgement); err != nil {
			r.result.NotSaved = err.Error()
		}
	}
	r.tell(Finished{r.ID, r.result})
}

func (r *run) tell(e Event) {
	if r.Tell != nil {
		r.Tell(e)
	}
}

// variant runs the trials of a variant.
func (r *run) variant(ctx context.Context, i int) VariantRecord {
	v := r.Variants[i]
	done := VariantRecord{Name: v.Name, Trials: []TrialRecord{}, LeftOut: r.LeavesOut(v)}
	trials := r.trialsOf(r.Experiment, v)
	if done.LeftOut != "" {
		trials = 0
	}
	if ctx.Err() == nil {
		r.tell(VariantBegan{r.ID, v.Name, v.Expect, trials, done.LeftOut})
	}
	pace := r.Pace
	for n, repeats := 1, 0; n <= trials && ctx.Err() == nil; {
		t := &Trial{
			Experiment: r.ID, Variant: v.Name, Number: len(done.Trials) + 1, Real: r.Real, App: r.App,
			checkout: r.Docker, mutant: r.Mutant, pace: pace, recorder: r.recorder,
		}
		t.Rand = rand.New(rand.NewPCG(r.Seed, uint64(i)<<32|uint64(t.Number)))
		r.tell(TrialBegan{r.ID, v.Name, t.Number, n, trials, repeats})
		one, repeat, whole := r.trial(ctx, v, t, repeats)
		if !whole {
			r.result.Record.Left = text(t.left)
			break
		}
		if repeat {
			repeats++
		} else {
			n, repeats = n+1, 0
		}
		if one.Late {
			pace = pace.slower()
		}
		done.Trials = append(done.Trials, one)
	}
	return done
}

// trial runs one trial, which is the so many-th repeat, and reports whether it must be repeated. One that ctx has cut short is not whole,
// and does not count.
func (r *run) trial(ctx context.Context, v Variant, t *Trial, repeats int) (one TrialRecord, repeat, whole bool) {
	start := time.Now()
	err := t.run(ctx, v)
	one = TrialRecord{Number: t.Number, Took: time.Since(start), Err: text(err)}
	if ctx.Err() != nil {
		return one, false, false
	}
	if repeats > 0 {
		one.Repeats = t.Number - 1
	}
	if t.pace != r.Pace {
		one.Pace = t.pace
	}
	var found []history.Violation
	checked := caught(func() { found = r.Check(t.Events()) }) // of a check that panics the judge tells
	repeat = repeats < MostRepeats && !(r.Once && err != nil) && checked == nil && len(found) == 0 && mustRepeat(v, t, err)
	one.Late = repeat && err != nil
	judged := TrialJudged{r.ID, v.Name, t.Number, nil, one.Err, one.Late}
	if len(found) > 0 {
		judged.Violation = &found[0]
	}
	r.tell(judged)
	return one, repeat, true
}

// TrialsOf is how often each variant of e runs that has no number of its own.
func (o Options) TrialsOf(e Experiment) int {
	return cmp.Or(max(o.Trials, 0), e.Trials, 3)
}

// trialsOf is how often a variant of e runs.
func (o Options) trialsOf(e Experiment, v Variant) int {
	return cmp.Or(max(o.Trials, 0), v.Trials, o.TrialsOf(e))
}

// Engine says what serves as Redis.
func (o Options) Engine() string {
	if o.Docker != "" {
		return "containers of " + o.Image
	}
	return servers.Engine(o.Real)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
