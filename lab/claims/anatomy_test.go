package claims

import (
	"testing"

	"locklab/lab"
	"locklab/lab/testenv"
)

// The experiments on commands alone need no redis-server.
func TestAnatomyOnMiniredis(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"L01", "L02", "L04", "L08", "L10", "L12", "L21", "L25"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			e, err := All().Find(id)
			if err != nil {
				t.Fatal(err)
			}
			if e.Takes > quick || testenv.RedisServer.Met() { // with a redis-server TestExperiments has the short ones
				testenv.Slow(t)
			}
			r := lab.Run(t.Context(), e, lab.Options{Trials: 1}).Record
			if j := e.Judge(r); j.Verdict != lab.AsExpected {
				t.Errorf("%s: %s: %s", e.ID, j.Verdict, j.Why)
			}
		})
	}
}
