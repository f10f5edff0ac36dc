package pages

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"locklab/lab"
	"locklab/lab/history"
)

// Result is what the pages show of a run of an experiment. It is committed with its drawings beside the pages; the other events of the run
// are not.
type Result struct {
	Experiment    lab.Experiment     `json:"-"`
	Record        lab.Record         `json:"record"` // its only events are the measurements
	Judgement     lab.Judgement      `json:"judgement"`
	Measures      []lab.Measured     `json:"measures,omitempty"`
	Drawings      []Drawing          `json:"drawings,omitempty"`
	Interleavings []lab.ExploredLock `json:"interleavings,omitempty"`
}

// Drawing is a trial that a page shows as a picture.
type Drawing struct {
	Variant string          `json:"variant"`
	Trial   string          `json:"trial"`            // which one it is, and why
	Events  []history.Event `json:"events,omitempty"` // of the drawing that is the evidence of the page
}

// resultOf is where the result of an experiment is, below the root of the checkout.
func resultOf(id string) string { return filepath.Join(folder, "results", id+".json") }

// Load reads the committed results below root. An experiment that was never run has one without a record.
func Load(root string, all []lab.Experiment) (results []Result, err error) {
	for _, e := range all {
		r, failed := read(root, e)
		if failed == nil && r.Saved() && !r.current() {
			failed = fmt.Errorf("the variants of %s are not those of its saved run: run make lab LAB=\"run %[1]s\", then make results ID=%[1]s",
				lab.Number(e.ID))
		}
		if failed == nil && !r.Saved() && hasDrawings(root, e.ID) {
			failed = fmt.Errorf("the result of %s is missing: restore %s with git, or run make lab LAB=\"run %[1]s\", then make results ID=%[1]s",
				lab.Number(e.ID), resultOf(e.ID))
		}
		results, err = append(results, r), errors.Join(err, failed)
	}
	return results, err
}

// hasDrawings reports whether there are drawings of an experiment, so that it was run.
func hasDrawings(root, id string) bool {
	drawings, _ := filepath.Glob(filepath.Join(root, folder, images, id+"-*.svg")) // the pattern is ours
	return len(drawings) > 0
}

func read(root string, e lab.Experiment) (Result, error) {
	r, name := Result{Experiment: e}, filepath.Join(root, resultOf(e.ID))
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil
	case err != nil:
		return r, err
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	switch err := strict.Decode(&r); {
	case err != nil:
		return r, fmt.Errorf("%s is damaged: %w", name, err)
	case r.Record.Format != lab.Format:
		return r, fmt.Errorf("%s has format %d, and this program reads %d: run make lab LAB=\"run %s\", then make results ID=%[4]s",
			name, r.Record.Format, lab.Format, lab.Number(e.ID))
	}
	for _, m := range r.Measures {
		for _, value := range m.Values {
			event := m.Event(m.Timeline, value)
			event.Variant = m.Variant
			r.Record.Events = append(r.Record.Events, event)
		}
	}
	return r, nil
}

// Saved reports whether there is a run behind the result.
func (r Result) Saved() bool { return r.Record.Experiment != "" }

// current reports whether the experiment still has the variants and the interleavings of the result.
func (r Result) current() bool {
	return slices.EqualFunc(r.Experiment.Variants, r.Judgement.Variants, func(v lab.Variant, ran lab.VariantJudgement) bool {
		return v.Name == ran.Name && v.Expect == ran.Expect && v.Strategy == ran.Strategy
	}) && slices.EqualFunc(r.Experiment.Interleavings, r.Interleavings, func(i lab.Interleavings, tried lab.ExploredLock) bool {
		return i.Lock.Name == tried.Lock && i.Bounds == tried.Bounds && i.Violation == tried.Violation && i.Expect == tried.Expect
	})
}

// run is the result as a saved run, whose only events are measurements.
func (r Result) run() lab.Saved {
	return lab.Saved{Experiment: r.Experiment, Record: r.Record, Judgement: r.Judgement}
}

// Runs are the results as saved runs, for the tables that sum several up.
func Runs(results []Result) (runs []lab.Saved) {
	for _, r := range results {
		if r.Saved() {
			runs = append(runs, r.run())
		}
	}
	return runs
}

// Taken is what became of runs that are newer than the committed results.
type Taken struct {
	Experiments []string // their numbers: they have a new result
	Refused     []error  // why the others have none
}

// Take makes each run that is newer than the committed result of its experiment that result, with its drawings. It refuses a run with fewer
// trials than the experiment's own number. A run that shows nothing is an error, and so are interleavings that are not as expected: then
// nothing is taken.
func Take(ctx context.Context, root string, runs []lab.Saved) (taken Taken, err error) {
	files := make(map[string][]byte)
	for _, run := range runs {
		before, unreadable := read(root, run.Experiment)
		if unreadable != nil { // a run replaces a result that is damaged or old
			before = Result{}
		}
		newer := run.Experiment.ID == "" || run.Record.Began.After(before.Record.Began)
		short := tooFewTrials(run)
		var failed error
		switch {
		case !newer:
			continue
		case short != nil:
			taken.Refused = append(taken.Refused, short)
			continue
		case run.Judgement.Verdict == lab.Inconclusive:
			failed = fmt.Errorf("the run in %s is inconclusive: %s", run.Dir, run.Judgement.Why)
		default:
			failed = take(ctx, files, run)
		}
		taken.Experiments, err = append(taken.Experiments, lab.Number(run.Experiment.ID)), errors.Join(err, failed)
	}
	if err != nil {
		return Taken{}, err
	}
	_, err = Write(root, files)
	return taken, err
}

// tooFewTrials names the first variant of a run with fewer trials than the experiment's own number; nil: none has. A variant that was left
// out may have none.
func tooFewTrials(run lab.Saved) error {
	for _, v := range run.Experiment.Variants {
		at := slices.IndexFunc(run.Record.Variants, func(ran lab.VariantRecord) bool { return ran.Name == v.Name })
		if at < 0 || run.Record.Variants[at].LeftOut != "" {
			continue
		}
		trials, want := 0, cmp.Or(v.Trials, lab.Options{}.TrialsOf(run.Experiment))
		for _, t := range run.Record.Variants[at].Trials {
			if t.Repeats == 0 {
				trials++
			}
		}
		if trials < want {
			const text = "%s was not taken over: variant %q ran %d of %d trials in %s; run it again without --trials: make lab LAB=\"run %[1]s\""
			return fmt.Errorf(text, lab.Number(run.Experiment.ID), v.Name, trials, want, run.Dir)
		}
	}
	return nil
}

// take adds the result of a run and its drawings to files. It tries every interleaving of the experiment's locks, which ends with ctx.
func take(ctx context.Context, files map[string][]byte, run lab.Saved) (err error) {
	r := Result{Experiment: run.Experiment, Record: run.Record, Judgement: run.Judgement, Measures: run.Record.Measures()}
	if r.Interleavings, err = explored(ctx, run.Experiment); err != nil {
		return err
	}
	all, err := draw(run)
	if err != nil {
		return err
	}
	shown := onePerOutcome(all)
	for _, d := range shown {
		if d.Name != best(shown).Name {
			d.Events = nil
		}
		r.Drawings = append(r.Drawings, d.Drawing)
		files[filepath.Join(folder, d.File)] = d.svg
	}
	r.Judgement.Variants = slices.Clone(r.Judgement.Variants)
	for i := range r.Judgement.Variants {
		v := &r.Judgement.Variants[i]
		if v.Evidence = nil; v.Violation != nil {
			v.Violation = &history.Violation{What: v.Violation.What}
		}
	}
	text, err := json.MarshalIndent(r, "", " ")
	files[resultOf(run.Experiment.ID)] = append(text, '\n')
	return err
}

// explored tries every interleaving of the experiment's locks.
func explored(ctx context.Context, e lab.Experiment) (all []lab.ExploredLock, err error) {
	for _, i := range e.Interleavings {
		x, err := i.Explore(ctx)
		if err != nil {
			return nil, fmt.Errorf("the interleavings of %s, %s: %w", e.ID, i.Lock.Name, err)
		}
		if x.Verdict != lab.AsExpected {
			return nil, fmt.Errorf("the interleavings of %s, %s: %s: expected is %s, and it is %s",
				e.ID, i.Lock.Name, i.Violation, i.Expect, x.Found)
		}
		all = append(all, lab.ExploredLock{Lock: i.Lock.Name, Bounds: i.Bounds, Violation: i.Violation, Expect: i.Expect, Found: x.Found})
	}
	return all, nil
}
