package report

import (
	"os"
	"path/filepath"
	"testing"

	"locklab/experiments"
	"locklab/experiments/claims"
)

// A damaged run is in the report of the store, with the reason.
func TestTheReportOfAStoreHasDamagedRuns(t *testing.T) {
	store := t.TempDir()
	for _, id := range []string{"L03-foreign-unlock", "L10-set-without-nx"} {
		if _, err := experiments.Save(store, entry(t, id).Record); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(store, "L10-set-without-nx", "latest", "history.jsonl"), 50); err != nil {
		t.Fatal(err)
	}
	got := newest(store, claims.All(), claims.Find)
	if len(got) != 2 || got[0].Judgement.Why != "" || got[1].Experiment.ID != "L10-set-without-nx" || got[1].Judgement.Why == "" {
		t.Errorf("%d runs: %+v", len(got), got)
	}
}
