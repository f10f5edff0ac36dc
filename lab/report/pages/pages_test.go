package pages

import (
	"context"
	"os"
	"path/filepath"
	"slices"
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
		Schedule: lab.Schedule{Takes: 2 * time.Second},
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
	if taken, err := Take(ctx, root, runs); err != nil || taken != len(runs) {
		t.Fatalf("took %d of %d runs: %v", taken, len(runs), err)
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

func TestPages(t *testing.T) {
	e, s := example()
	made := generate(t.Context(), t, []lab.Experiment{e}, s)
	if len(made) != 5 {
		t.Fatalf("%d pages and pictures", len(made))
	}
	for name, all := range map[string][]string{
		"docs/experiments/L03-foreign-unlock.md": {
			"# L03 · Foreign unlock\n", "The claim. Verdict: **as predicted**. The machine was 2.5 times slower than a quiet one",
			"**A2.** What is said.", "How it goes.",
			"**Where our result differs from A2.** What | is wrong.", "## Known from elsewhere\n\nSaid by https://example.org.\n",
			"`go run ./cmd/app lab run L03` (2 s on a quiet machine; needs Go only)",
			"| control (control) | no violation | – | no violation in 1 trial | 1.0 s | as predicted |",
			"| DEL | violation | SET NX PX | violation in 1 of 1 trial | 3.0 s | as predicted |",
			"| variant | of | commands | ms until the next holder |", "| DEL | A | 7 (1 to 9) | 0.30 |",
			"### DEL\n\n**A: it is violated.** The picture shows trial 1, the first with a violation.\n\n" +
				"![DEL: A: it is violated](img/L03-foreign-unlock-del.svg)",
			"### control: no violation\n\n![control: no violation](img/L03-foreign-unlock-control.svg)",
			"### The claim as a drawing\n\n```text\nA ──\n```\n",
			"<details><summary>DEL: 3 events</summary>", "    2  09:00:00.250000  A          it is violated",
			"grant token 1795336135749408 · key lock", "app lab run L03 --seed 9",
			"9.0 s long, seed 9.", "Locklab abc on linux; Redis: miniredis",
		},
		"docs/experiments/README.md": {
			"## L · anatomy of a Redis lock", "- [L03 · Foreign unlock](L03-foreign-unlock.md)",
			"| [L03-foreign-unlock](L03-foreign-unlock.md) **start here** | medium | 2 | What happens? | A2 | nothing |",
			"The runs of these pages: 1 as predicted.",
		},
		"docs/errata.md": {
			"| A2 | What \\| is wrong | line 7: `del` | [L03-foreign-unlock](experiments/L03-foreign-unlock.md) |\n",
			"# Where our results differ from the articles", "| there is nothing to run |",
		},
	} {
		for _, says := range all {
			if !strings.Contains(string(made[filepath.FromSlash(name)]), says) {
				t.Errorf("%s does not say %q:\n%s", name, says, made[name])
			}
		}
	}
	if page := string(made["docs/errata.md"]); strings.Count(page, "\n| A") != len(errata)+1 {
		t.Errorf("an erratum is missing, or there twice:\n%s", page)
	}
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

// The parts of a page come in the order in which a reader learns, and a part without a text is left out.
func TestPagesTeachInOrder(t *testing.T) {
	e, s := example()
	runs := []lab.Saved{s}
	parts := func() (titles []string) {
		made := generate(t.Context(), t, []lab.Experiment{e}, runs...)
		for line := range strings.Lines(string(made[PageOf(e.ID)])) {
			if title, is := strings.CutPrefix(line, "## "); is {
				titles = append(titles, strings.TrimSpace(title))
			}
		}
		return titles
	}
	run := []string{"Question", "Run", "What happened", "What the articles say", "Known from elsewhere", "Evidence", "Reproduce"}
	if got := parts(); !slices.Equal(got, run) {
		t.Errorf("without a lesson: %q", got)
	}
	e.Predict, e.Choices, e.Why, e.Fix, e.Limits, e.Next = "p", []string{"(a) This.", "(b) That."}, "w", "f", "l", "n"
	want := []string{
		"Question", "Predict", "Run", "What happened", "Why", "Fix", "Limits", "What the articles say", "Known from elsewhere", "Try next",
		"Evidence", "Reproduce",
	}
	if got := parts(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	e.Says, e.Errata, e.Elsewhere, runs = "", nil, "", nil
	if got := parts(); !slices.Equal(got, append(want[:7:7], "Try next", "Reproduce")) {
		t.Errorf("without a run and without articles: %q", got)
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
	wantIn(t, page, "| DEL | violation | SET NX PX | left out |  | |\n")
	if strings.Contains(page, "machine needed") || strings.Contains(page, "as fast as") {
		t.Error("a quiet machine is mentioned")
	}
	wantIn(t, string(made[PageOf("README")]),
		"The runs of these pages: 1 as predicted, L04 not run yet, L05 unexpected.", "| nothing; some variants: etcd |")
}

// The page of an experiment without a run says so.
func TestPageWithoutARun(t *testing.T) {
	e, _ := example()
	made := generate(t.Context(), t, []lab.Experiment{e})
	wantIn(t, string(made[PageOf(e.ID)]), "No run of it is saved yet.")
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
