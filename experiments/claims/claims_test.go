package claims

import (
	"slices"
	"testing"

	"locklab/experiments"
	"locklab/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// Every experiment that needs no app comes to its verdict with each trial of three. Those that measure have the machine to
// themselves.
func TestExperiments(t *testing.T) {
	for _, e := range All() {
		if onInstances(e) {
			continue // cmd/app has them
		}
		t.Run(e.ID, func(t *testing.T) {
			if slices.Contains(e.Needs, experiments.RedisServer) {
				testenv.Needs(t, testenv.RedisServer)
			}
			if e.ID != "L09-waiting" && e.ID != "L14-fairness" {
				t.Parallel()
			}
			for seed := range uint64(3) {
				r := experiments.Run(t.Context(), e, experiments.Options{Seed: seed, Trials: 1, Real: testenv.RedisServer.Met()})
				if j := e.Judge(r); j.Verdict != experiments.Supported {
					t.Errorf("seed %d: %s: %s", seed, j.Verdict, j.Why)
				}
			}
		})
	}
}
