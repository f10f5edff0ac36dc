//go:build unix

package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/experiments/trialtest"
	"locklab/internal/testenv"
	"locklab/stack"
)

// Every experiment on instances of the app comes to its verdict, also with the race detector: this test binary is the app. `make check
// PART=lab` runs them once more with the app itself.
func TestClaimsOnInstances(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range claims.All() {
		onInstances := strings.Contains("PG", e.ID[:1]) || strings.HasPrefix(e.ID, "R0-")
		if !onInstances || e.Takes > time.Minute { // TestNoFaultOfTheLockLosesAnUpdate runs the long ones for a shorter time
			continue
		}
		t.Run(e.ID, func(t *testing.T) {
			testenv.Slow(t)
			for _, need := range e.Needs {
				testenv.Needs(t, testenv.ByName(string(need)))
			}
			options := experiments.Options{Trials: 1, Real: stack.RealRedis(), App: []string{self, "serve"}}
			trialtest.AsExpected(t, trialtest.Sample(e, 3*time.Second), options)
		})
	}
}
