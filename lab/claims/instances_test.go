package claims

import (
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/claims/services"
)

// Nothing is shown without the app. cmd/app runs these experiments.
func TestWithoutTheAppNothingIsShown(t *testing.T) {
	for _, e := range All() {
		if !OnInstances(e) {
			continue
		}
		r := lab.Run(t.Context(), e, lab.Options{Trials: 1}).Record
		if j := e.Judge(r); j.Verdict != lab.Inconclusive || !strings.Contains(j.Why, services.ErrNoApp.Error()) {
			t.Errorf("%s: %s: %s", e.ID, j.Verdict, j.Why)
		}
	}
}
