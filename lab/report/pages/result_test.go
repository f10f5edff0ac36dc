package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/explore"
	"locklab/lockstrategy/articlelock"
)

// Every page is the one that make pages writes from the code, the lessons and the committed results. Each drawing that a page shows is
// there, and nothing else is.
func TestPagesAreCurrent(t *testing.T) {
	const root = "../../.."
	made, err := Generate(root, claims.All())
	if err != nil {
		t.Fatal(err)
	}
	var stale []string
	for name, text := range made {
		there, err := os.ReadFile(filepath.Join(root, name))
		if text == nil || err != nil || !bytes.Equal(there, text) {
			stale = append(stale, name)
		}
	}
	if len(stale) > 0 {
		slices.Sort(stale)
		t.Errorf("These files are not what make pages writes. Run make pages, and commit them:\n%s", strings.Join(stale, "\n"))
	}
	results, err := Load(root, claims.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		for _, p := range r.pictures() {
			if _, err := os.Stat(filepath.Join(root, folder, p.File)); err != nil {
				t.Errorf("%s shows a drawing that is not there: %v", r.Experiment.ID, err)
			}
		}
	}
}

// A result is replaced by a newer run, and by no older one. The drawings of the earlier result are removed.
func TestTakeReplacesAnOlderResult(t *testing.T) {
	e, s := example()
	root := checkoutWithoutResults(t)
	older, newer := s, s
	older.Record.Began, newer.Record.Began = s.Record.Began.Add(-time.Hour), s.Record.Began.Add(time.Hour)
	newer.Record.Variants = append(newer.Record.Variants[:1:1], lab.VariantRecord{Name: "DEL", LeftOut: "needs etcd"})
	newer.Judgement = e.Judge(newer.Record)
	drawing := filepath.Join(root, folder, images, e.ID+"-del.svg")
	for _, step := range []struct {
		run    lab.Saved
		taken  int
		exists bool
	}{{s, 1, true}, {older, 0, true}, {s, 0, true}, {newer, 1, false}} {
		taken, err := Take(t.Context(), root, []lab.Saved{step.run})
		if err != nil || len(taken.Experiments) != step.taken {
			t.Errorf("the run of %s: took %v, %v", step.run.Record.Began, taken, err)
		}
		made, err := Generate(root, []lab.Experiment{e})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Write(root, made); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(drawing); errors.Is(err, fs.ErrNotExist) == step.exists {
			t.Errorf("the run of %s: the drawing exists: %v, %v", step.run.Record.Began, !step.exists, err)
		}
	}
}

// checkoutWithoutResults is a folder with the two pages that have the matrix.
func checkoutWithoutResults(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	const text = "<!-- matrix: x -->\n<!-- /matrix -->\n<!-- reasons: x -->\n<!-- /reasons -->\n"
	if _, err := Write(root, map[string][]byte{"README.md": []byte(text), "docs/matrix.md": []byte(text)}); err != nil {
		t.Fatal(err)
	}
	return root
}

// Where one run shows nothing, no run is taken, and the error names it.
func TestTakeRefusesAnInconclusiveRun(t *testing.T) {
	e, s := example()
	other, interrupted := s, s
	other.Experiment.ID, other.Record.Experiment = "L04-shared-value", "L04-shared-value"
	interrupted.Dir, interrupted.Record.Interrupted = "store/L03", true
	interrupted.Judgement = e.Judge(interrupted.Record)
	damaged := lab.Saved{Dir: "store/X", Judgement: lab.Judgement{Why: "run.json is damaged"}}
	root := t.TempDir()
	taken, err := Take(t.Context(), root, []lab.Saved{other, interrupted, damaged})
	wantSays(t, err, "store/L03 is inconclusive: it was interrupted")
	wantSays(t, err, "store/X is inconclusive: run.json is damaged")
	if written, _ := os.ReadDir(root); len(taken.Experiments) != 0 || len(written) != 0 {
		t.Errorf("took %v and wrote %v", taken, written)
	}
}

// A run with fewer trials than the experiment's own number replaces no result, and others are taken over beside it. A repeat is no trial of
// its own.
func TestTakeRefusesARunOfFewerTrials(t *testing.T) {
	e, s := example()
	e.Trials = 2
	trials := []lab.TrialRecord{{Number: 1}, {Number: 2, Repeats: 1}, {Number: 3}}
	short, whole := s, s
	short.Experiment, short.Dir = e, "store/L03"
	short.Record.Variants = []lab.VariantRecord{{Name: "control", Trials: trials}, {Name: "DEL", Trials: trials[:2]}}
	whole.Experiment.ID, whole.Record.Experiment = "L04-shared-value", "L04-shared-value"
	root := t.TempDir()
	taken, err := Take(t.Context(), root, []lab.Saved{short, whole})
	if err != nil || strings.Join(taken.Experiments, " ") != "L04" {
		t.Fatalf("took %v: %v", taken.Experiments, err)
	}
	wantSays(t, errors.Join(taken.Refused...), `variant "DEL" ran 1 of 2 trials in store/L03`)
	if _, err := os.Stat(filepath.Join(root, resultOf(e.ID))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has a result: %v", err)
	}
	short.Record.Variants[1].Trials = trials
	if taken, err := Take(t.Context(), root, []lab.Saved{short}); err != nil || len(taken.Experiments) != 1 {
		t.Errorf("with two trials: took %v, %v", taken, err)
	}
}

// A result of other variants, or of other interleavings, is not shown as one of these.
func TestLoadRefusesAResultOfOtherVariants(t *testing.T) {
	e, s := example()
	root := t.TempDir()
	if _, err := Take(t.Context(), root, []lab.Saved{s}); err != nil {
		t.Fatal(err)
	}
	renamed, explored := e, e
	renamed.Variants = []lab.Variant{{Name: "control"}, {Name: "renamed", Expect: lab.Sometimes}}
	explored.Interleavings = []lab.Interleavings{{Lock: articlelock.Compare}}
	for _, changed := range []lab.Experiment{renamed, explored} {
		_, err := Load(root, []lab.Experiment{changed})
		wantSays(t, err, `make lab LAB="run L03", then make results ID=L03`)
	}
	if _, err := Load(root, []lab.Experiment{e}); err != nil {
		t.Error(err)
	}
}

// A result that is lost, or that an older program wrote, does not become a page without a run. A new run replaces it.
func TestNoPageLosesItsResult(t *testing.T) {
	e, s := example()
	root := checkoutWithoutResults(t)
	result := filepath.Join(root, resultOf(e.ID))
	text := func() []byte {
		if _, err := Take(t.Context(), root, []lab.Saved{s}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(result)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	current := fmt.Sprintf(`"format": %d`, lab.Format)
	for _, lost := range [][]byte{nil, bytes.Replace(text(), []byte(current), []byte(`"format": 1`), 1)} {
		if err := errors.Join(os.Remove(result), writeUnlessNil(result, lost)); err != nil {
			t.Fatal(err)
		}
		_, err := Generate(root, []lab.Experiment{e})
		wantSays(t, err, `make lab LAB="run L03", then make results ID=L03`)
		text()
		if _, err := Generate(root, []lab.Experiment{e}); err != nil {
			t.Error(err)
		}
	}
}

func writeUnlessNil(name string, text []byte) error {
	if text == nil {
		return nil
	}
	return os.WriteFile(name, text, 0o600)
}

// An interleaving that is not as expected is no result.
func TestTakeRefusesAContradiction(t *testing.T) {
	e, s := example()
	b := explore.Bounds{Clients: "AB", Expiry: 1}
	for lock, says := range map[*lab.Interleavings]string{
		{Lock: articlelock.PlainDEL, Bounds: b, Violation: explore.NonOwnerUnlock}: "L03-foreign-unlock, SET NX PX, DEL: " +
			"a client deleted another client's lock: expected is no violation, and it is violation in 62 of 136",
		{Lock: articlelock.Compare, Bounds: b, Violation: explore.NonOwnerUnlock, Expect: lab.Sometimes}: "SET NX PX, script: " +
			"a client deleted another client's lock: expected is violation, and it is no violation in all",
	} {
		e.Interleavings = []lab.Interleavings{*lock}
		s.Experiment = e
		_, err := Take(t.Context(), t.TempDir(), []lab.Saved{s})
		wantSays(t, err, says)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Take(stopped, t.TempDir(), []lab.Saved{s}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func wantSays(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %q", err, says)
	}
}
