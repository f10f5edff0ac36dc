package pages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/experiments"
	"locklab/history"
	"locklab/report"
)

func example() (experiments.Experiment, experiments.Saved) {
	e := experiments.Experiment{
		ID: "L03-foreign-unlock", Article: "A2", Claim: "The claim.", Says: "What is said.",
		Errata:  []experiments.Erratum{{Article: "A2", What: "What | is wrong."}},
		Drawing: "\nA ──\n", How: "How it goes.",
		Takes:    2 * time.Second,
		Variants: []experiments.Variant{{Name: "control"}, {Name: "DEL", Expect: experiments.Sometimes, Strategy: "SET NX PX"}},
		Check:    func(events []history.Event) []history.Violation { return history.Noted(events, "it broke") },
	}
	r := experiments.Record{
		Experiment: e.ID, Command: "app lab run L03 --seed 9", Seed: 9, Build: "abc", Machine: "linux", Redis: "miniredis", Count: 6,
		Variants: []experiments.VariantRecord{
			{Name: "control", Trials: []experiments.TrialRecord{{Number: 1, Took: time.Second}}},
			{Name: "DEL", Trials: []experiments.TrialRecord{{Number: 1, Took: 3 * time.Second}}},
		},
		Events: []history.Event{
			{Seq: 1, Variant: "control", Trial: 1, Timeline: "A", Kind: history.Note, Text: "all is well"},
			{Seq: 2, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Note, Text: "it broke"},
			{Seq: 3, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Measure, Value: 7, Text: "commands"},
			{Seq: 4, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Measure, Value: 1, Text: "commands"},
			{Seq: 5, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Measure, Value: 9, Text: "commands"},
			{Seq: 6, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Note, Text: "```\x1b[2J"},
		},
	}
	return e, experiments.Saved{Experiment: e, Record: r, Judgement: e.Judge(r)}
}

func TestPages(t *testing.T) {
	e, s := example()
	made, err := All(t.Context(), []experiments.Experiment{e}, []experiments.Saved{s}, report.SVG)
	if err != nil || len(made) != 3 {
		t.Fatalf("%d pages, %v", len(made), err)
	}
	for name, all := range map[string][]string{
		"experiments/L03-foreign-unlock.md": {
			"The claim.", "What is said.", "What | is wrong.", "```text\nA ──\n```", "How it goes.", "Verdict: **as expected**.",
			"| control (control) | no violation |  | no violation in 1 trial | 1.0 s | as expected |",
			"| DEL | violation | SET NX PX | violation in 1 of 1 trial | 3.0 s | as expected |",
			"| commands | DEL | A | 7 | 1 | 9 |", "**DEL**: A: it broke.", "│ it broke", "app lab run L03 --seed 9", "seed 9",
			"Locklab abc on linux; Redis: miniredis", "takes about 2.0 s",
		},
		"experiments/README.md": {
			"## L · anatomy of a Redis lock",
			"| [L03-foreign-unlock](L03-foreign-unlock.md) | A2 | The claim | nothing | as expected |",
		},
		"errata.md": {
			`| A2 | What \| is wrong | [L03-foreign-unlock](experiments/L03-foreign-unlock.md) | as expected |`,
			"not yet: P0-atomic is to come",
		},
	} {
		for _, says := range all {
			if !strings.Contains(string(made[filepath.FromSlash(name)]), says) {
				t.Errorf("%s does not say %q:\n%s", name, says, made[name])
			}
		}
	}
	if errata := string(made["errata.md"]); strings.Contains(errata, "The release is GET") ||
		strings.Count(errata, "\n| A") != len(checkedErrata(t)) {
		t.Errorf("an erratum is missing, or there twice:\n%s", errata)
	}
}

// checkedErrata is the table of errata; every one must have an experiment, or a reason.
func checkedErrata(t *testing.T) []erratum {
	t.Helper()
	for _, e := range errata {
		if (e.By == "") == (e.Why == "") {
			t.Errorf("%s: either an experiment or a reason: %+v", e.Article, e)
		}
	}
	return errata
}

// What was never run has a page that says so, and what was interrupted one that says why it shows nothing.
func TestPagesOfWhatShowsNothing(t *testing.T) {
	e, s := example()
	s.Record.Interrupted = true
	s.Judgement = e.Judge(s.Record)
	for says, runs := range map[string][]experiments.Saved{
		"No run of it is saved yet.":                     nil,
		"Verdict: **inconclusive**: it was interrupted.": {s},
	} {
		made, err := All(t.Context(), []experiments.Experiment{e}, runs, report.SVG)
		if err != nil || !strings.Contains(string(made[path(e.ID)]), says) {
			t.Errorf("%v: no %q in\n%s", err, says, made[path(e.ID)])
		}
	}
}

func TestText(t *testing.T) {
	if got := inline(" a\nb\x1b. "); got != "a; b\uFFFD" {
		t.Errorf("%q", got)
	}
	if got := cell("a|b"); got != `a\|b` {
		t.Errorf("%q", got)
	}
	if got := fenced("\n```\na\x1b\n"); got != "'''\na\uFFFD" {
		t.Errorf("%q", got)
	}
}

func TestCheck(t *testing.T) {
	e, s := example()
	all := []experiments.Experiment{e}
	docs := t.TempDir()
	if Check(docs, all) == nil {
		t.Error("there are no pages")
	}
	made, err := All(t.Context(), all, []experiments.Saved{s}, report.SVG)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(docs, made); err != nil {
		t.Fatal(err)
	}
	if err := Check(docs, all); err != nil {
		t.Error(err)
	}
	other := e
	other.ID = "L04-shared-value"
	wantCheck(t, Check(docs, append(all, other)), "L04-shared-value has no page")
	wantCheck(t, Check(docs, nil), "is the page of no experiment")
	other = e
	other.Claim = "Another claim."
	wantCheck(t, Check(docs, []experiments.Experiment{other}), "has another claim")
	if err := os.WriteFile(filepath.Join(docs, path("README")), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantCheck(t, Check(docs, all), "is not in the index")
}

func wantCheck(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %q", err, says)
	}
}
