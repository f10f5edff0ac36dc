//go:build unix

package main

import (
	"slices"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/claims/services"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/trialtest"
)

// kinds has an experiment on instances for page views and one for orders. `make test` runs only these. The tests of the demo send the same
// bursts to all versions.
var kinds = []string{"P1", "G5"}

// shortened are experiments that take a minute per variant. TestNoFaultOfTheLockLosesAView runs a shorter one.
var shortened = []string{"P9", "G9"}

// Every experiment on instances has the expected verdict. This test binary is the app, so the race detector covers the instances, too.
// `make check PART=lab` repeats the experiments with the real app.
func TestClaimsOnInstances(t *testing.T) {
	for _, e := range claims.All() {
		number := lab.Number(e.ID)
		if !claims.OnInstances(e) || slices.Contains(shortened, number) {
			continue
		}
		t.Run(e.ID, func(t *testing.T) {
			testenv.Slow(t)
			if !slices.Contains(kinds, number) {
				testenv.Check(t, testenv.Whole)
			}
			for _, need := range e.Needs {
				testenv.Needs(t, testenv.ByName(string(need)))
			}
			options := lab.Options{Trials: 1, Real: servers.RealRedis(), App: []string{program(t), "serve"}}
			trialtest.AsExpected(t, trialtest.Sample(e, 3*time.Second), options)
		})
	}
}

// No lock fault loses a view, because pview registers the fencing token when it reads. If it checked the token only at the write, about 150
// views would be lost in this time.
func TestNoFaultOfTheLockLosesAView(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	chaos := services.Chaos{Version: "v3", For: 8 * time.Second}
	e := lab.Experiment{Variants: []lab.Variant{{Name: "chaos", Run: chaos.Views}}}
	r := lab.Run(t.Context(), e, lab.Options{Trials: 1, Real: true, App: []string{program(t), "serve"}}).Record
	if why := r.Variants[0].Trials[0].Err; why != "" {
		t.Fatal(why)
	}
	n := make(map[history.Kind]int)
	for _, e := range r.Events {
		n[e.Kind]++
	}
	if n[history.Fault] != 4 || n[history.Write] == 0 {
		t.Errorf("%d kinds of faults, want 4; %d views", n[history.Fault], n[history.Write])
	}
	if found := services.LostViews(r.Events); len(found) > 0 {
		t.Errorf("%d violations, the first: %s", len(found), found[0].What)
	}
}
