package live

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/testenv"
)

// An experiment is run from its page, saved, and its report is there.
func TestAnExperimentIsRunFromItsPage(t *testing.T) {
	t.Parallel()
	s, base := serving(t)
	status, page := get(t, base+"/ui/experiments/L01/runs/latest")
	if status != http.StatusNotFound || !strings.Contains(page, "is not saved") {
		t.Errorf("without a run: %d", status)
	}
	looker := looks(t, base, "L01-no-expiry-run")
	if status, body := do(t, http.MethodPost, base+"/ui/quiz/L01/run", nil, nil); status != http.StatusOK {
		t.Fatal(status, body)
	}
	if shown := looker.until("L01-no-expiry-run", "violation in 1 of 1 trial, as predicted"); strings.Contains(shown, "not saved") {
		t.Error(shown)
	}
	// The report of the store links the run's own.
	if _, err := os.Stat(filepath.Join(s.cfg.Store, "L01-no-expiry", "latest", lab.ReportFile)); err != nil {
		t.Error(err)
	}
	testenv.Eventually(t, "the saved run is listed", func() bool { return len(savedRuns(t, base)) == 1 })
	reproduced := []string{"history.jsonl", "run L01-no-expiry --seed "}
	if status, page := get(t, base+savedRuns(t, base)[0]); status != http.StatusOK || !all(page, reproduced) {
		t.Errorf("after a run: %d", status)
	}
	wantReplay(t, base)
	do(t, http.MethodPost, base+"/ui/quiz/L01/run", nil, nil)
	testenv.Eventually(t, "two runs are listed, the newest first", func() bool {
		runs := savedRuns(t, base)
		return len(runs) == 2 && runs[0] > runs[1]
	})
}

// wantReplay follows the link to the replay of a run: from the first event to the violation at the end.
func wantReplay(t *testing.T, base string) {
	t.Helper()
	number := regexp.MustCompile(`Event 1 of (\d+)\.`)
	_, page := get(t, base+"/ui/experiments/L01")
	link := regexp.MustCompile(`(/ui/experiments/L01-no-expiry/runs/[^"/]+)/\d+`).FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("no link leads to the replay: %s", page)
	}
	run, replay := base+link[1], base+link[0]
	_, page = get(t, replay)
	found := number.FindStringSubmatch(page)
	if found == nil || strings.Contains(page, `class="finding"`) {
		t.Fatalf("a replay begins with %s", page)
	}
	_, page = get(t, replay+"?event="+found[1])
	if !strings.Contains(page, `class="finding"`) {
		t.Errorf("it ends with %s", page)
	}
	for _, path := range []string{"/0", "/99", "/x"} {
		if status, body := get(t, run+path); status != http.StatusNotFound || !strings.Contains(body, "variants 1 to") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

var replayed = regexp.MustCompile(`/ui/experiments/[^/"]+/runs/[^"/]+/\d+`)

var savedRun = regexp.MustCompile(`/ui/experiments/L01-no-expiry/runs/[^"/]+`)

// savedRuns are the addresses of those of L01.
func savedRuns(t *testing.T, base string) []string {
	t.Helper()
	_, page := get(t, base+"/ui/experiments/L01")
	return slices.Compact(savedRun.FindAllString(page, -1)) // a run has two links
}

// The list shows the experiments with the words, of the article and of the anomaly that are asked for, and hides the others.
func TestExperimentsAreFiltered(t *testing.T) {
	_, base := serving(t)
	for query, want := range map[string]map[string]bool{
		"article=A2&anomaly=unlock+by+a+non-owner": {"L03-foreign-unlock": true, "L11-pause-past-lease": false, "P1-no-lock": false},
		"text=NON-owner+unlock":                    {"L03-foreign-unlock": true, "P1-no-lock": false},
		"text=l03":                                 {"L03-foreign-unlock": true, "L11-pause-past-lease": false},
		"":                                         {"L03-foreign-unlock": true, "L11-pause-past-lease": true, "P1-no-lock": true},
	} {
		_, page := get(t, base+"/ui/experiments?"+query)
		for id, shown := range want {
			card := regexp.MustCompile(`<li [^>]*data-text="` + id + ` [^>]*>`).FindString(page)
			if card == "" || strings.HasSuffix(card, " hidden>") == shown {
				t.Errorf("%q: %s is shown: %v", query, id, !shown)
			}
		}
	}
}

// A saved run is named by its time, as a person says it.
func TestASavedRunHasANameForPeople(t *testing.T) {
	now := time.Date(2026, 11, 30, 15, 0, 0, 0, time.FixedZone("", 3600))
	for name, want := range map[string]string{
		"20261130T130305.123Z": "today 14:03", "20261129T130305.123Z": "yesterday 14:03", "20261129T233000.000Z": "today 00:30",
		"20260102T040506.000Z": "2 January 2026, 05:05", "mine": "mine",
	} {
		if got := when(name, now); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// An address that no page has, and a method that it does not take, lead to a page with the way back, or to a sentence for a program.
func TestAnAddressWithoutAPage(t *testing.T) {
	_, base := serving(t)
	for _, c := range []struct {
		method, path string
		status       int
		says         string
	}{
		{http.MethodGet, "/ui/nothing", http.StatusNotFound, "There is no page /ui/nothing."},
		{http.MethodGet, "/v3/pview", http.StatusNotFound, "There is no page /v3/pview: pages are under /ui/"},
		{http.MethodPost, "/v3/pview", http.StatusNotFound, "There is no page /v3/pview: pages are under /ui/"},
		{http.MethodDelete, "/ui/story/1", http.StatusMethodNotAllowed, "/ui/story/1 takes GET, HEAD, not DELETE."},
	} {
		status, page := do(t, c.method, base+c.path, nil, nil)
		if status != c.status || !all(page, []string{c.says, `href="/ui/"`, `<nav class="tabs"`}) {
			t.Errorf("%+v: %d: %s", c, status, page)
		}
		status, text := do(t, c.method, base+c.path, nil, http.Header{"Accept": {"*/*"}})
		if status != c.status || !strings.HasPrefix(text, c.says) || strings.Contains(text, "<") {
			t.Errorf("%+v, as a program: %d: %s", c, status, text)
		}
	}
}
