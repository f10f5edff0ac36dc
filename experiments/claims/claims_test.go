package claims

import (
	"testing"
	"time"

	"locklab/experiments"
	"locklab/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// Every experiment that needs no app is as expected with each seed of three, or with one where that takes long: CI runs all of them once
// more as a user does. Those that measure run alone in this package, but other packages are tested beside it: a run that shows nothing then
// is repeated.
func TestExperiments(t *testing.T) {
	for _, e := range All() {
		if onInstances(e) {
			continue // cmd/app has them
		}
		t.Run(e.ID, func(t *testing.T) {
			for _, need := range e.Needs {
				testenv.Needs(t, testenv.ByName(string(need)))
			}
			if err := experiments.LeftOut([]experiments.Experiment{e}); err != nil && testenv.RequireAll() {
				t.Fatal(err)
			} else if err != nil {
				t.Log(err)
			}
			if !e.Alone {
				t.Parallel()
			}
			seeds := uint64(3)
			if e.Takes > 10*time.Second {
				seeds = 1
			}
			for seed := range seeds {
				r := experiments.Run(t.Context(), e, experiments.Options{Seed: seed, Trials: 1, Real: testenv.RedisServer.Met()})
				j := e.Judge(r)
				for again := 0; e.Alone && again < 2 && j.Verdict == experiments.Inconclusive; again++ {
					t.Logf("seed %d: %s: on a busy machine a measurement may show nothing; once more", seed, j.Why)
					j = e.Judge(experiments.Run(t.Context(), e, experiments.Options{Seed: seed, Trials: 1, Real: testenv.RedisServer.Met()}))
				}
				if j.Verdict != experiments.AsExpected {
					t.Errorf("seed %d: %s: %s", seed, j.Verdict, j.Why)
				}
			}
		})
	}
}
