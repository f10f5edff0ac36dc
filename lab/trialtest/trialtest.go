// Package trialtest has what tests of claims share: histories, single trials, and whole experiments.
package trialtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/testenv"
)

// Numbered makes a history of events, a millisecond apart.
func Numbered(events ...history.Event) []history.Event {
	for i := range events {
		events[i].Seq, events[i].At = i+1, time.Duration(i)*time.Millisecond
	}
	return events
}

// Of runs a scenario as the only trial of an experiment, and returns what it recorded.
func Of(t *testing.T, scenario lab.Scenario) ([]history.Event, error) {
	t.Helper()
	return paced(t, 0, scenario)
}

// Paced runs a scenario as [Of] does, on a machine with a pace. A trial that failed ends the test.
func Paced(t *testing.T, pace lab.Pace, scenario lab.Scenario) []history.Event {
	t.Helper()
	events, err := paced(t, pace, scenario)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func paced(t *testing.T, pace lab.Pace, scenario lab.Scenario) ([]history.Event, error) {
	t.Helper()
	e := lab.Experiment{Variants: []lab.Variant{{Name: "it", Run: scenario}}}
	r := lab.Run(t.Context(), e, lab.Options{Trials: 1, Pace: pace}).Record
	if len(r.Variants) == 0 || len(r.Variants[0].Trials) == 0 {
		t.Fatal("no trial ran")
	}
	if text := r.Variants[0].Trials[0].Err; text != "" {
		return r.Events, errors.New(text)
	}
	return r.Events, nil
}

// A process that did not run for longer may have lost a lease that it renews. Leases of trials last for some hundred milliseconds.
const stalled = 100 * time.Millisecond

// AsExpected runs an experiment, and fails the test unless it is as expected: then it returns the last run, and true. On a busy machine a
// variant may show nothing: it is repeated, twice at most, with the control. An unexpected one is repeated once, and only if this process
// was stalled while it ran.
func AsExpected(t *testing.T, e lab.Experiment, o lab.Options) (r lab.Result, is bool) {
	t.Helper()
	stalls := testenv.WatchStalls(t)
	var seen []lab.Verdict
	for {
		r = lab.Run(t.Context(), e, o)
		j, late := r.Judgement, stalls.Longest()
		if j.Verdict == lab.AsExpected {
			t.Logf("as expected in %s", r.Record.Took.Round(time.Millisecond))
			return r, true
		}
		if seen = append(seen, j.Verdict); !again(seen, late) {
			t.Errorf("seed %d: %s: %s", o.Seed, j.Verdict, j.Why)
			return r, false
		}
		t.Logf("seed %d: %s, and this process was stalled for %s; once more: %s", o.Seed, j.Verdict, late.Round(time.Millisecond), j.Why)
		e.Variants = Repeated(e, j)
	}
}

// again reports whether an experiment is run again, after these verdicts and a stall for so long.
func again(seen []lab.Verdict, stall time.Duration) bool {
	unexpected := 0
	for _, v := range seen {
		if v == lab.Unexpected {
			unexpected++
		}
	}
	if seen[len(seen)-1] == lab.Unexpected && (unexpected > 1 || stall < stalled) {
		return false
	}
	return len(seen) < 3
}

// Repeated are the variants of an experiment that are to be repeated after a judgement, with the control.
func Repeated(e lab.Experiment, j lab.Judgement) (all []lab.Variant) {
	for i, v := range e.Variants {
		at := slices.IndexFunc(j.Variants, func(judged lab.VariantJudgement) bool { return judged.Name == v.Name })
		if i == 0 || j.Void || at < 0 || j.Variants[at].Verdict != lab.AsExpected && j.Variants[at].LeftOut == "" {
			all = append(all, v)
		}
	}
	if len(all) < 2 { // an experiment without anything beside its control shows nothing
		return e.Variants
	}
	return all
}

// Sample is an experiment as `make test` runs it. One that takes longer than most for all its trials has its control, and the first variant
// of each expectation. The part "tests" of `make check` runs every variant.
func Sample(e lab.Experiment, most time.Duration) lab.Experiment {
	if e.Takes <= most || testenv.Whole.Runs() {
		return e
	}
	some := []lab.Variant{e.Control()}
	for _, expect := range []lab.Expect{lab.Never, lab.Sometimes} {
		others := e.Variants[1:]
		if i := slices.IndexFunc(others, func(v lab.Variant) bool { return v.Expect == expect }); i >= 0 {
			some = append(some, others[i])
		}
	}
	e.Variants = some
	return e
}
