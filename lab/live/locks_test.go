package live

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab/scorecard"
)

// The page shows the next step of the exercise for each lock of it: the first whose rows do not all hold. Other locks have none.
func TestTheExerciseHasANextStep(t *testing.T) {
	t.Parallel()
	rows := func(held ...string) (all []scorecard.Score) {
		for _, row := range scorecard.Rows() {
			score := scorecard.Score{ID: row.ID, State: scorecard.NotClaimed}
			if slices.ContainsFunc(held, func(id string) bool { return strings.HasPrefix(row.ID, id) }) {
				score.State = scorecard.Holds
			}
			all = append(all, score)
		}
		return all
	}
	held := []string{}
	for _, step := range scorecard.Exercise {
		card := &scorecard.Scorecard{Name: "my lock in cobol", Rows: rows(held...)}
		if l := lockOf(card); l.Done || l.Step == nil || l.Step.Name != step.Name {
			t.Errorf("after %v the next step is %+v, want %s", held, l.Step, step.Name)
		}
		card.Rows = rows(append(held, step.Rows[1:]...)...)
		if l := lockOf(card); l.Step == nil || l.Step.Name != step.Name {
			t.Errorf("without %s the next step is %+v, want %s", step.Rows[0], l.Step, step.Name)
		}
		held = append(held, step.Rows...)
	}
	if l := lockOf(&scorecard.Scorecard{Name: "my lock", Rows: rows(held...)}); !l.Done || l.Step != nil {
		t.Errorf("after all steps: %+v", l)
	}
	if l := lockOf(&scorecard.Scorecard{Name: "my lock", Rows: rows()[:3]}); l.Done || l.Step != nil {
		t.Errorf("after three rows: %+v", l)
	}
	some := lockOf(&scorecard.Scorecard{Name: "my lock", Rows: rows()[:3]})
	if some.follow(lockOf(&scorecard.Scorecard{Name: "my lock", Rows: rows()})); some.Step == nil || len(some.Earlier) != 1 {
		t.Errorf("three rows hide the next step of the run before: %+v", some)
	}
	if l := lockOf(&scorecard.Scorecard{Name: "redsync", Rows: rows()}); l.Done || l.Step != nil {
		t.Errorf("a lock that is none of the exercise: %+v", l)
	}
}

// The page lists the locks that were tried, the newest first, with the rows that do not hold, and has the page of each. A scorecard that
// cannot be read is named. No other file of the store is shown.
func TestLocksThatWereTried(t *testing.T) {
	store := t.TempDir()
	_, base := serve(t, config(store))
	if _, body := get(t, base+"/ui/locks"); !strings.Contains(body, "No lock was tried yet.") {
		t.Errorf("without a lock the page is %s", body)
	}
	for i, name := range []string{"first", "My <lock>", "My <lock>"} {
		card := scorecard.Scorecard{Name: name, Program: []string{"node", "my lock.js"}, Ended: time.Unix(int64(i), 0), Rows: []scorecard.Score{
			{ID: "T01-a", Title: "kept", State: scorecard.Holds}, {ID: "T02-b", Title: "a promise", State: scorecard.Violated},
		}}
		page, err := scorecard.NewPage(store, name, card.Ended)
		if err != nil {
			t.Fatal(err)
		}
		card.Report = page.Name()
		if _, err := fmt.Fprint(page, "the timelines of run ", i); err != nil || page.Close() != nil {
			t.Fatal(err)
		}
		if err := card.Save(); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range map[string]string{"try/bad.html": "", "try/bad.json": "{", "secret.html": "secret"} {
		if err := os.WriteFile(filepath.Join(store, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, body := get(t, base+"/ui/locks")
	newest, oldest := strings.Index(body, "My &lt;lock&gt;</a>"), strings.Index(body, "first</a>")
	if newest < 0 || oldest < newest || strings.Contains(body, "T01-a") || !strings.Contains(body, "unexpected end of JSON") {
		t.Errorf("the page is %s", body)
	}
	for _, says := range []string{
		"<b>1</b> holds", "<b>1</b> violated", "<b>T02</b>, violated: a promise", "Earlier runs: 1", "<code>node my lock.js</code>",
	} {
		if !strings.Contains(body, says) {
			t.Errorf("no %q in %s", says, body)
		}
	}
	for i, page := range []string{"first-19700101-000000", "my--lock--19700101-000001", "my--lock--19700101-000002"} {
		if status, body := get(t, base+"/ui/locks/"+page); status != http.StatusOK || body != fmt.Sprint("the timelines of run ", i) {
			t.Errorf("%s: %d: %s", page, status, body)
		}
	}
	for _, path := range []string{"/ui/locks/secret", "/ui/locks/..%2Fsecret", "/ui/locks/bad"} {
		if status, body := get(t, base+path); status != http.StatusNotFound || strings.Contains(body, "secret\n") {
			t.Errorf("%s: %d, %s", path, status, body)
		}
	}
}
