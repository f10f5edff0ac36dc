package html

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/history"
	"locklab/lab/testenv"
)

// After a run nothing is judged again. The report of the store has the verdicts of earlier runs as they were, with links to their reports.
// One without its judgement says so. The run itself is drawn.
func TestTheReportOfAStoreJudgesNothingAgain(t *testing.T) {
	testenv.Slow(t)
	store, c := t.TempDir(), claims.All()
	var runs []lab.Result
	for _, id := range []string{"L03-foreign-unlock", "L04-shared-value", "L10-set-without-nx"} {
		var err error
		s := entry(t, id)
		if s.Dir, err = lab.Save(store, s.Record, s.Judgement); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, lab.Result{Saved: s})
	}
	for i := range c {
		c[i].Check = func([]history.Event) []history.Violation {
			t.Errorf("%s is judged again", c[i].ID)
			return nil
		}
	}
	if _, err := Write(store, runs[:2], c); err != nil { // L04 has its own report from now on
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(runs[0].Dir, "judgement.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	interrupted := runs[1] // it does not replace the complete run
	interrupted.Record.Interrupted, interrupted.Record.Began = true, interrupted.Record.Began.Add(time.Second)
	interrupted.Judgement.Verdict = lab.Inconclusive
	var err error
	if interrupted.Dir, err = lab.Save(store, interrupted.Record, interrupted.Judgement); err != nil {
		t.Fatal(err)
	}
	file, err := Write(store, append(runs[2:], interrupted), c)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	wants(t, page,
		`<a href="L04-shared-value/`+filepath.Base(runs[1].Dir)+`/report.html" id="L04-shared-value">`, "(an earlier run)",
		"judgement.json is damaged", "delete this file",
		`<details class="run" id="L10-set-without-nx" open>`, `href="#L10-set-without-nx"`)
	if strings.Contains(page, `<details class="run" id="L04`) {
		t.Error("an earlier run is drawn without its record")
	}
}

// A run that is not saved has no report. A report that cannot be written is an error.
func TestTheReportOfWhatIsNotSaved(t *testing.T) {
	lost, gone := lab.Result{NotSaved: "the disk is full"}, lab.Result{}
	lost.Dir, gone.Dir = t.TempDir(), filepath.Join(t.TempDir(), "gone")
	if file, err := Write(lost.Dir, []lab.Result{lost, {}}, nil); file != "" || err != nil {
		t.Errorf("of runs that are not saved: %q, %v", file, err)
	}
	if _, err := Write(lost.Dir, []lab.Result{gone}, nil); err == nil {
		t.Error("a report is written into a folder that is gone")
	}
}

// The report of a store begins with what is not as expected, and links the report of each run. A run's report draws every variant.
func TestTheReportOfAStoreBeginsWithWhatIsNotAsExpected(t *testing.T) {
	store, ids := t.TempDir(), []string{"L03-foreign-unlock", "L04-shared-value", "L10-set-without-nx"}
	results := make([]lab.Result, len(ids))
	for i, id := range ids {
		s := entry(t, id)
		if i == 1 {
			s.Record.Interrupted = true
			s.Judgement = s.Experiment.Judge(s.Record) // inconclusive
		}
		var err error
		if s.Dir, err = lab.Save(store, s.Record, s.Judgement); err != nil {
			t.Fatal(err)
		}
		results[i].Saved = s
	}
	file, err := Write(store, results, claims.All())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, before := range []string{`href="#`, `id="`} {
		inconclusive := strings.Index(page, before+ids[1])
		for _, id := range []string{ids[0], ids[2]} {
			if at := strings.Index(page, before+id); inconclusive < 0 || at < inconclusive {
				t.Errorf("%s%s stands at %d, and what is inconclusive at %d", before, id, at, inconclusive)
			}
		}
	}
	for i, id := range ids {
		own := id + "/" + filepath.Base(results[i].Dir) + "/report.html"
		wants(t, page, `href="`+own+`"`)
		if _, err := os.Stat(filepath.Join(store, own)); err != nil {
			t.Error(err)
		}
	}
}
