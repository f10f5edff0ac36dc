package pages

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/history"
)

// L11 draws the write that the resource refused, and F05, where nothing is ever violated, draws what was refused.
func TestProtectedVariantsAreDrawn(t *testing.T) {
	events := func(variant string, from int, kinds ...history.Kind) (all []history.Event) {
		for i, kind := range kinds {
			all = append(all, history.Event{Seq: from + i, Variant: variant, Trial: 1, Timeline: "A", Kind: kind, Value: 1, Owner: "a", Key: "k"})
		}
		return all
	}
	violated := &history.Violation{What: "lost", Events: []int{12}}
	p := lab.Saved{Experiment: lab.Experiment{ID: "X01-made"}}
	p.Judgement.Variants = []lab.VariantJudgement{
		{Name: "control", Control: true, Trials: 1},
		{Name: "Paused!", Trials: 1, Violation: violated},
		{Name: "paused, token checked", Trials: 1},
		{Name: "only measured", Trials: 1, Violation: &history.Violation{Events: []int{31}}},
		{Name: "not run"},
		{Name: "no violation this time", Expect: lab.Sometimes, Trials: 1},
	}
	p.Record.Events = slices.Concat(
		events("control", 1, history.Grant), events("Paused!", 11, history.Grant, history.Write),
		events("paused, token checked", 21, history.Grant, history.Stale), events("only measured", 31, history.Measure),
		events("no violation this time", 41, history.Grant),
	)
	for _, v := range p.Judgement.Variants {
		p.Record.Variants = append(p.Record.Variants, lab.VariantRecord{
			Name: v.Name, Trials: []lab.TrialRecord{{Number: 1, Took: time.Second}},
		})
	}
	files := func() (names []string) {
		all, err := draw(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all {
			names = append(names, d.File)
		}
		return names
	}
	if got := files(); !slices.Equal(got, []string{"img/X01-made-paused.svg", "img/X01-made-paused-token-checked.svg"}) {
		t.Errorf("got %q", got)
	}
	p.Judgement.Variants = p.Judgement.Variants[:2]
	if got := files(); !slices.Equal(got, []string{"img/X01-made-control.svg", "img/X01-made-paused.svg"}) {
		t.Errorf("the control alone was protected: got %q", got)
	}
}

// Of the variants with one outcome a page shows the first that is short and has no lock of the articles. Its evidence is of such a
// counterexample.
func TestAPageShowsEachOutcomeOnce(t *testing.T) {
	e, s := example()
	note := func(seq int, variant, text string) history.Event {
		return history.Event{Seq: seq, Variant: variant, Trial: 1, Timeline: "A", Kind: history.Note, Text: text}
	}
	s.Record.Events = []history.Event{
		note(1, "control", "all is well"),
		note(2, "DEL", "it is violated"), note(3, "DEL", "a detail"),
		{Seq: 4, Variant: "DEL", Trial: 1, Timeline: "A", Kind: history.Stale},
		note(5, "DEL, shorter", "it is violated"), note(6, "DEL, shorter", "its only detail"),
		note(7, "DEL, as short", "it is violated"), note(8, "DEL, as short", "another detail"),
		note(9, "DEL, otherwise", "it is violated otherwise"),
	}
	s.Record.Count = len(s.Record.Events)
	e.Check = func(events []history.Event) []history.Violation {
		return slices.Concat(history.Noted(events, history.Mark{Name: "it is violated"}),
			history.Noted(events, history.Mark{Name: "it is violated otherwise"}))
	}
	for _, name := range []string{"DEL, shorter", "DEL, as short", "DEL, otherwise"} {
		e.Variants = append(e.Variants, lab.Variant{Name: name, Expect: lab.Sometimes})
		s.Record.Variants = append(s.Record.Variants, lab.VariantRecord{
			Name: name, Trials: []lab.TrialRecord{{Number: 1, Took: time.Second}},
		})
	}
	s.Judgement = e.Judge(s.Record)
	made := func() string {
		s.Experiment = e
		return string(generate(t.Context(), t, []lab.Experiment{e}, s)[PageOf(e.ID)])
	}
	page := made()
	drawn := regexp.MustCompile(`!\[[^]]*\]\(img/([^)]*)\)`).FindAllStringSubmatch(page, -1)
	var files []string
	for _, one := range drawn {
		files = append(files, one[1])
	}
	want := []string{"L03-foreign-unlock-control.svg", "L03-foreign-unlock-del-shorter.svg", "L03-foreign-unlock-del-otherwise.svg"}
	if !slices.Equal(files, want) {
		t.Errorf("the page shows %q", files)
	}
	wantIn(t, page,
		"<details><summary>DEL, shorter: 2 events</summary>", "store/L03-foreign-unlock/latest/history.jsonl")
	if strings.Contains(page, "another detail") || strings.Contains(page, "`stale`") {
		t.Error("the evidence of another variant is shown, too")
	}
	e.Variants, s.Record.Variants = e.Variants[:2], s.Record.Variants[:2]
	s.Judgement = e.Judge(s.Record)
	wantIn(t, made(), "<summary>DEL: ", "`stale` is what the resource refused.")
}

// Two variants of an experiment never have the same picture.
func TestEveryVariantHasAFileOfItsOwn(t *testing.T) {
	for _, e := range claims.All() {
		seen := make(map[string]string)
		for _, v := range e.Variants {
			if other, twice := seen[slug(v.Name)]; twice || slug(v.Name) == "" {
				t.Errorf("%s: %q and %q have the picture %q", e.ID, v.Name, other, slug(v.Name))
			}
			seen[slug(v.Name)] = v.Name
		}
	}
}

// runOnce runs an experiment once, with some of its variants or all. On a busy machine a trial may show nothing: then it runs again, three
// times at most.
func runOnce(ctx context.Context, t *testing.T, e lab.Experiment) lab.Saved {
	t.Helper()
	for again := 0; ; again++ {
		s := lab.Run(ctx, e, lab.Options{Trials: 1, Seed: 7}).Saved
		at := slices.IndexFunc(s.Judgement.Variants, func(v lab.VariantJudgement) bool {
			return v.LeftOut == "" && v.Verdict != lab.AsExpected
		})
		if at >= 0 && again < 3 {
			t.Logf("once more: %s: %s", s.Judgement.Variants[at].Name, s.Judgement.Variants[at].Why)
			continue
		}
		return s
	}
}

// Where two clients hold the lock, the page of F06 draws the vote of each node.
func TestPagesDrawVotes(t *testing.T) {
	e, err := claims.All().Find("F06")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e.Variants = slices.DeleteFunc(slices.Clone(e.Variants), func(v lab.Variant) bool { return v.Name != "restarted immediately" })
	drawings, err := draw(runOnce(ctx, t, e))
	if err != nil || len(drawings) != 1 {
		t.Fatalf("%d drawings, %v", len(drawings), err)
	}
	wantIn(t, string(drawings[0].svg), ">redlock-1<", ">redlock-5<", ">voted for A<", ">voted for B<", ">2 holders<", ">A does not reach it<")
}

func wantIn(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, says := range all {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
}
