package web

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/experiments/try"
)

// The page lists the locks that were tried, the newest first, with the rows that do not hold, and has the page of each. A scorecard that
// cannot be read is named. No other file of the store is shown.
func TestLocksThatWereTried(t *testing.T) {
	store := t.TempDir()
	_, base := serve(t, config(store))
	if _, body := get(t, base+"/ui/locks"); !strings.Contains(body, "No lock was tried yet.") {
		t.Errorf("without a lock the page is %s", body)
	}
	for i, name := range []string{"first", "My <lock>"} {
		card := try.Scorecard{Name: name, Program: []string{"node", "my lock.js"}, Ended: time.Unix(int64(i), 0), Rows: []try.Score{
			{ID: "T01-a", Title: "kept", State: try.Holds}, {ID: "T02-b", Title: "a promise", State: try.Violated},
		}}
		card.Report = try.PageOf(store, name)
		if err := os.MkdirAll(filepath.Dir(card.Report), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(card.Report, []byte("the timelines of "+name), 0o644); err != nil {
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
		"1 holds · 1 violated", "<b>T02-b</b>, violated: a promise", `href="/ui/locks/my--lock-"`,
		"<code>node my lock.js</code>",
	} {
		if !strings.Contains(body, says) {
			t.Errorf("no %q in %s", says, body)
		}
	}
	if status, body := get(t, base+"/ui/locks/my--lock-"); status != http.StatusOK || body != "the timelines of My <lock>" {
		t.Errorf("%d: %s", status, body)
	}
	for _, path := range []string{"/ui/locks/secret", "/ui/locks/..%2Fsecret", "/ui/locks/bad"} {
		if status, body := get(t, base+path); status != http.StatusNotFound || strings.Contains(body, "secret\n") {
			t.Errorf("%s: %d, %s", path, status, body)
		}
	}
}
