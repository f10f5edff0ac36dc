package claims

import (
	"strings"
	"testing"

	"locklab/experiments"
	"locklab/experiments/services"
)

// onInstances reports whether an experiment needs the app: cmd/app runs those.
func onInstances(e experiments.Experiment) bool {
	return strings.Contains("PG", e.ID[:1]) || strings.HasPrefix(e.ID, "R0-")
}

func TestWithoutTheAppNothingIsShown(t *testing.T) {
	for _, e := range All() {
		if !onInstances(e) {
			continue
		}
		r := experiments.Run(t.Context(), e, experiments.Options{Trials: 1})
		if j := e.Judge(r); j.Verdict != experiments.Inconclusive || !strings.Contains(j.Why, services.ErrNoApp.Error()) {
			t.Errorf("%s: %s: %s", e.ID, j.Verdict, j.Why)
		}
	}
}
