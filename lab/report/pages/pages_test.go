package pages

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/history"
)

func example() (lab.Experiment, lab.Saved) {
	e := lab.Experiment{
		ID: "L03-foreign-unlock", Articles: lab.Articles{"A2"},
		Claim: "The claim.", Level: lab.Medium, Start: true,
		Lesson: lab.Lesson{
			Title: "Foreign unlock", Question: "What happens?", Drawing: "A ──", How: "How it goes.", Says: "What is said.",
			Errata:    []lab.Erratum{{Article: "A2", What: "What | is wrong.", Where: "line 7: `del`"}},
			Elsewhere: "Said by https://example.org.",
		},
		Schedule: lab.Schedule{Takes: 2 * time.Second, Trials: 1},
		Variants: []lab.Variant{{Name: "control"}, {Name: "DEL", Expect: lab.Sometimes, Strategy: "SET NX PX"}},
		Check: func(events []history.Event) []history.Violation {
			return history.Noted(events, history.Mark{Name: "it is violated"})
		},
	}
	r := lab.Record{
		Format:     lab.Format,
		Experiment: e.ID, Command: "app lab run L03 --seed 9", Seed: 9, Build: "abc", Machine: "linux", Redis: "miniredis", Count: 8, Pace: 2.5,
		Began: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), Took: 9 * time.Second,
		Variants: []lab.VariantRecord{
			{Name: "control", Trials: []lab.TrialRecord{{Number: 1, Took: time.Second}}},
			{Name: "DEL", Trials: []lab.TrialRecord{{Number: 1, Took: 3 * time.Second}}},
		},
		Events: []history.Event{
			{Seq: 1, Variant: "control", Trial: 1, Timeline: "A", Kind: history.Note, Text: "all is well"},
			{Seq: 2, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Note, Text: "it is violated", At: 250 * time.Millisecond},
			{Seq: 3, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Measure, Value: 7, Name: "commands"},
			{Seq: 4, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Measure, Value: 1, Name: "commands"},
			{Seq: 5, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Measure, Value: 9, Name: "commands"},
			{Seq: 6, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Note, Text: "```\x1b[2J"},
			{Seq: 7, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Grant, Key: "lock", Token: 1795336135749408},
			{Seq: 8, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Measure, Value: 300, Name: "until the next holder", Unit: "µs"},
		},
	}
	return e, lab.Saved{Experiment: e, Record: r, Judgement: e.Judge(r)}
}

// generate takes runs over in an empty checkout, and returns its pages and drawings.
func generate(ctx context.Context, t *testing.T, all []lab.Experiment, runs ...lab.Saved) map[string][]byte {
	t.Helper()
	root := t.TempDir()
	if taken, err := Take(ctx, root, runs); err != nil || len(taken.Experiments) != len(runs) {
		t.Fatalf("took %v of %d runs: %v", taken, len(runs), err)
	}
	results, err := Load(root, all)
	if err != nil {
		t.Fatal(err)
	}
	made, err := render(results)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		for _, p := range r.pictures() {
			name := filepath.Join(folder, p.File)
			if made[name], err = os.ReadFile(filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return made
}

// A reader predicts before the page answers: the claim, the expected results, the pictures and the reasons are folded.
func TestPagesFoldTheAnswers(t *testing.T) {
	e, s := example()
	e.Choices, e.Why, e.Fix, e.Limits, e.Next = []string{"(a) This."}, "because", "f", "l", "n"
	made := generate(t.Context(), t, []lab.Experiment{e}, s)
	depth, open := 0, ""
	for line := range strings.Lines(string(made[PageOf(e.ID)])) {
		depth += strings.Count(line, "<details>") - strings.Count(line, "</details>")
		if depth < 0 || depth > 1 {
			t.Fatalf("the folds do not match: %s", line)
		}
		if depth == 0 {
			open += line
		}
	}
	if depth != 0 {
		t.Error("a fold is not closed")
	}
	for _, answer := range []string{
		"How it goes.", e.Claim, "| expected |", "A ──", "img/", "violation in 1 of 1 trial",
		"because", "\nf\n", "\nl\n", "What is said.", "What | is wrong.", "Said by",
	} {
		if strings.Contains(open, answer) {
			t.Errorf("%q is read before a prediction", answer)
		}
	}
	for _, seen := range []string{"## Predict\n\n- (a) This.\n\n## Run", "## What happened", "## Try next\n\nn\n", "## Reproduce"} {
		if !strings.Contains(open, seen) {
			t.Errorf("%q is folded", seen)
		}
	}
}

// A variant that did not run has no verdict. A quiet machine is not mentioned. The index counts the verdicts, and names what is not as
// expected, what did not run, and what some variants need.
func TestPagesOfPartOfARun(t *testing.T) {
	e, s := example()
	e.Variants[1].Needs = []lab.Need{lab.Etcd}
	s.Record.Variants[1] = lab.VariantRecord{Name: "DEL", LeftOut: "needs etcd"}
	s.Record.Pace = 1
	s.Judgement = e.Judge(s.Record)
	unsaved, unexpected, void := e, e, s
	unsaved.ID, unexpected.ID = "L04-shared-value", "L05-lease-overrun"
	s.Experiment, void.Experiment, void.Record.Experiment, void.Judgement.Verdict = e, unexpected, unexpected.ID, lab.Unexpected
	made := generate(t.Context(), t, []lab.Experiment{e, unsaved, unexpected}, s, void)
	page := string(made[PageOf(e.ID)])
	wantIn(t, page, "| DEL | violation | SET NX PX | left out |  | |\n", "Left out: 1 of 2 variants of "+e.ID+": each needs etcd.")
	if strings.Contains(page, "machine needed") || strings.Contains(page, "as fast as") {
		t.Error("a quiet machine is mentioned")
	}
	wantIn(t, string(made[PageOf("README")]),
		"The runs of these pages: 1 as predicted, L04 not run yet, L05 unexpected.", "| nothing; some variants: etcd |")
}

// No text of a run can end a table's cell or a code block, or steer a terminal.
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
