package pages

import (
	"path/filepath"
	"regexp"
	"testing"

	"locklab/lab"
	"locklab/lab/claims"
)

func TestReferencesAreLinks(t *testing.T) {
	all := []lab.Experiment{{ID: "L05-lease-overrun"}, {ID: "L11-pause-past-lease"}, {ID: "P2-process-mutex"}}
	var results []Result
	for _, e := range all {
		results = append(results, Result{Experiment: e})
	}
	p := page{Result: results[0], links: referencesTo(results)}
	for text, want := range map[string]string{
		"As in (L11).":                "As in ([L11](L11-pause-past-lease.md)).",
		"L11 and P2, too":             "[L11](L11-pause-past-lease.md) and [P2](P2-process-mutex.md), too",
		"L11-pause-past-lease shows":  "[L11-pause-past-lease](L11-pause-past-lease.md) shows",
		"L11-another":                 "L11-another",
		"L05 itself, A0, L1 and L110": "L05 itself, A0, L1 and L110",
		"`lab run L11`, then P2":      "`lab run L11`, then [P2](P2-process-mutex.md)",
		"[the L11 page](x.md) stays":  "[the L11 page](x.md) stays",
		"https://example.org/L11":     "https://example.org/L11",
	} {
		if got := p.Linked(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A page leads to the experiments beside it, and its links to experiments are to pages that are there. The index tells a reader where to
// start.
func TestPagesLeadOn(t *testing.T) {
	all := claims.All()
	made := generate(t.Context(), t, all)
	links, starts := 0, 0
	for _, e := range all {
		if e.Start {
			starts++
		}
		for _, link := range regexp.MustCompile(`\]\(([A-Z]\d+-[a-z0-9-]+\.md)\)`).FindAllStringSubmatch(string(made[PageOf(e.ID)]), -1) {
			links++
			if made[filepath.Join(folder, link[1])] == nil {
				t.Errorf("the page of %s leads to %s, which is not there", e.ID, link[1])
			}
		}
	}
	if starts == 0 || starts > 6 {
		t.Errorf("a reader is told to start at %d experiments", starts)
	}
	if links < 4*len(all) {
		t.Errorf("%d pages have only %d links", len(all), links)
	}
	wantIn(t, string(made[PageOf(all[1].ID)]), "← ["+all[0].ID[:2], "["+all[2].ID[:2])
	wantIn(t, string(made["docs/experiments/D02-released-before-commit.md"]), "([G6](G6-conditional-update.md))")
}
