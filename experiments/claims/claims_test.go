package claims

import (
	"testing"

	"locklab/experiments"
	"locklab/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// Every experiment that needs no app comes to its verdict, three times.
func TestExperiments(t *testing.T) {
	for _, e := range All() {
		if onInstances(e) {
			continue // cmd/app has them
		}
		t.Run(e.ID, func(t *testing.T) {
			for seed := range uint64(3) {
				r := experiments.Run(t.Context(), e, experiments.Options{Seed: seed, Real: true})
				if j := e.Judge(r); j.Verdict != experiments.Supported {
					t.Errorf("seed %d: %s: %s", seed, j.Verdict, j.Why)
				}
			}
		})
	}
}
