package story_test

import (
	"os"
	"testing"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/live/story"
)

// Each scene has a recorded run, which shows what the scene is about. Nothing of it stays on the disk.
func TestARecordedRunShowsItsScene(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	defer func() {
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
			t.Errorf("it leaves %v in the folder for temporary files: %v", left, err)
		}
	}()
	all := claims.All()
	for i, scene := range story.Scenes {
		e, err := scene.In(all)
		if err != nil {
			t.Fatal(err)
		}
		run, err := scene.Recorded(all)
		if err != nil || len(run.Judgement.Variants) != len(e.Variants) {
			t.Errorf("scene %d has %d recorded variants, want %d: %v", i+1, len(run.Judgement.Variants), len(e.Variants), err)
			continue
		}
		violations := 0
		for at, v := range run.Judgement.Variants {
			violations += v.Violations
			if v.Name != e.Variants[at].Name {
				t.Errorf("scene %d has the variant %q in place of %q", i+1, v.Name, e.Variants[at].Name)
			}
		}
		if run.Judgement.Verdict != lab.AsExpected || violations == 0 || run.Record.Began.IsZero() {
			t.Errorf("scene %d: %+v", i+1, run.Judgement)
		}
	}
}
