//go:build unix

package main

import (
	"os"
	"slices"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/trialtest"
)

// kinds has one experiment on instances of each kind. `make test` runs only these. The tests of the demo send the same bursts to all
// versions.
var kinds = []string{"P1", "P3", "G1", "G5", "R0"}

// shortened are experiments that take a minute per variant. `make check PART=lab` runs them.
var shortened = []string{"P9", "G9"}

// Every experiment on instances has the expected verdict. This test binary is the app, so the race detector covers the instances, too.
// `make check PART=lab` repeats the experiments with the real app.
func TestClaimsOnInstances(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
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
			options := lab.Options{Trials: 1, Real: servers.RealRedis(), App: []string{self, "serve"}}
			trialtest.AsExpected(t, trialtest.Sample(e, 3*time.Second), options)
		})
	}
}
