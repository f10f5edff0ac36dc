//go:build unix

package main

import (
	"os"
	"slices"
	"testing"
	"time"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/experiments/trialtest"
	"locklab/internal/testenv"
	"locklab/stack"
)

// kinds are experiments on instances, one of each kind: `make test` runs these. The demo's tests send the same bursts to all versions.
var kinds = []string{"P1", "P3", "G1", "G5", "R0"}

// shortened are experiments of a minute a variant: TestNoFaultOfTheLockLosesAnUpdate runs them for a shorter time.
var shortened = []string{"P9", "G9"}

// Every experiment on instances of the app comes to its verdict, also with the race detector: this test binary is the app. `make check
// PART=lab` runs them once more with the app itself.
func TestClaimsOnInstances(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range claims.All() {
		number := experiments.Number(e.ID)
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
			options := experiments.Options{Trials: 1, Real: stack.RealRedis(), App: []string{self, "serve"}}
			trialtest.AsExpected(t, trialtest.Sample(e, 3*time.Second), options)
		})
	}
}
