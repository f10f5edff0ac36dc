package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Result is what became of an experiment in a run of several.
type Result struct {
	Saved
	NotSaved string // why the run is not saved; empty: it is in Dir
}

// MarshalJSON is the judgement with where the run is, as `app lab run --json` prints it.
func (r Result) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Judgement
		Claim    string  `json:"claim,omitempty"`
		Command  string  `json:"command,omitempty"` // that reproduces it
		Took     float64 `json:"took_s"`
		Saved    string  `json:"saved,omitempty"` // the run's folder
		NotSaved string  `json:"not_saved,omitempty"`
	}{r.Judgement, r.Record.Claim, r.Record.Command, r.Record.Took.Seconds(), r.Dir, r.NotSaved})
}

// Results are the runs of several experiments. `app lab run --json` prints them.
type Results struct {
	Command string   `json:"command"` // that reproduces them
	Seed    uint64   `json:"seed"`
	Redis   string   `json:"redis"`
	Pace    Pace     `json:"pace"`
	Build   string   `json:"build"`
	Runs    []Result `json:"runs"`
	LeftOut []string `json:"left_out,omitempty"` // experiments of a group that cannot run here: a sentence for each reason
	Verdict Verdict  `json:"verdict"`            // the worst
	Took    float64  `json:"took_s"`
	Report  string   `json:"report,omitempty"` // of all of it, as a page
}

// RunAll calls run for each experiment, so many at a time, and then for each that must run alone. The longest begin first, so that none of
// them is the last. After ctx has ended it begins none. The results are in the order of all.
func RunAll(ctx context.Context, all []Experiment, parallel int, run func(Experiment) Result) []Result {
	results := make([]Result, len(all))
	begin := func(i int) {
		if ctx.Err() == nil {
			results[i] = run(all[i])
		}
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	order := make([]int, len(all))
	for i, e := range all {
		order[i] = i
		notBegun := Judgement{Experiment: e.ID, Why: "it was not begun", Void: true}
		results[i].Saved = Saved{Experiment: e, Record: Record{Claim: e.Claim}, Judgement: notBegun}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(all[j].Takes, all[i].Takes) })
	for _, i := range order {
		if !all[i].Alone {
			group.Go(func() error { begin(i); return nil })
		}
	}
	_ = group.Wait() // no run has an error: its result has it
	for _, i := range order {
		if all[i].Alone {
			begin(i)
		}
	}
	return results
}

// WorstOf is the worst verdict of runs.
func WorstOf(runs []Result) Verdict {
	var all []Verdict
	for _, r := range runs {
		all = append(all, r.Judgement.Verdict)
	}
	return Worst(all...)
}

// NotSaved says which runs were judged and could not be saved.
func (r *Results) NotSaved() (err error) {
	for _, run := range r.Runs {
		if run.NotSaved != "" {
			err = errors.Join(err, fmt.Errorf("%s is judged and not saved: %s", run.Judgement.Experiment, run.NotSaved))
		}
	}
	return err
}

// Usual is about how long such a run takes: where it ran, with as many trials.
func (r Result) Usual() time.Duration {
	trials := 0
	for _, v := range r.Record.Variants {
		trials += len(v.Trials)
	}
	return r.Experiment.usual(trials, r.Record.Containers)
}

// Work is how many trials e has with these options, and about how long they take together.
func (o Options) Work(e Experiment) (trials int, takes time.Duration) {
	for _, v := range e.Variants {
		if o.LeavesOut(v) == "" {
			trials += o.trialsOf(e, v)
		}
	}
	return trials, e.usual(trials, o.Docker != "")
}

func (e Experiment) usual(trials int, containers bool) time.Duration {
	usual := e.Takes
	if containers {
		usual = e.Docker
	}
	own := 0
	for _, v := range e.Variants {
		own += (Options{}).trialsOf(e, v)
	}
	if own > 0 {
		usual = usual * time.Duration(trials) / time.Duration(own)
	}
	return usual
}
