//go:build unix

package main

import (
	"os"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/topology"
)

// chaosFor is shorter than in P9 and G9, which last a minute. If the token were checked only at the write, about 150 views would be lost in
// this time.
const chaosFor = 8 * time.Second

// No lock fault loses an update, because pview and order register the fencing token when they read.
func TestNoFaultOfTheLockLosesAnUpdate(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	chaos := services.Chaos{Version: "v3", For: chaosFor}
	withFailovers := services.Chaos{Version: "v3", For: chaosFor, Topology: topology.Sentinel}
	for _, c := range []struct {
		name   string
		run    lab.Scenario
		check  func([]history.Event) []history.Violation
		faults int // kinds
	}{
		{"views", chaos.Views, services.LostViews, 4},
		{"orders", chaos.Orders, history.Winners, 4},
		{"orders with failovers", withFailovers.Orders, history.Winners, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "views" { // make test runs one case
				testenv.Check(t, testenv.Whole)
			}
			e := lab.Experiment{Variants: []lab.Variant{{Name: "it", Run: c.run}}}
			r := lab.Run(t.Context(), e, lab.Options{Trials: 1, Real: true, App: []string{self, "serve"}}).Record
			if why := r.Variants[0].Trials[0].Err; why != "" {
				t.Fatal(why)
			}
			n := make(map[history.Kind]int)
			for _, e := range r.Events {
				if n[e.Kind]++; e.Kind == history.Fault || e.Kind == history.Measure {
					t.Logf("%s (%s)", e, e.Proof)
				}
			}
			if n[history.Fault] != c.faults || n[history.Write]+n[history.Win] == 0 {
				t.Errorf("%d kinds of faults, want %d; %d views, %d wins", n[history.Fault], c.faults, n[history.Write], n[history.Win])
			}
			if found := c.check(r.Events); len(found) > 0 {
				t.Errorf("%d violations, the first: %s", len(found), found[0].What)
			}
		})
	}
}
