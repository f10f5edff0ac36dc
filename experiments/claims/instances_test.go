package claims

import (
	"strings"
	"testing"

	"locklab/experiments"
	"locklab/experiments/services"
)

// Nothing is shown without the app. cmd/app runs these experiments.
func TestWithoutTheAppNothingIsShown(t *testing.T) {
	for _, e := range All() {
		if !OnInstances(e) {
			continue
		}
		r := experiments.Run(t.Context(), e, experiments.Options{Trials: 1}).Record
		if j := e.Judge(r); j.Verdict != experiments.Inconclusive || !strings.Contains(j.Why, services.ErrNoApp.Error()) {
			t.Errorf("%s: %s: %s", e.ID, j.Verdict, j.Why)
		}
	}
}
