package html

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/history"
	"locklab/internal/testenv"
)

// A damaged run is in the report of the store, with the reason.
func TestTheReportOfAStoreHasDamagedRuns(t *testing.T) {
	testenv.Slow(t)
	store := t.TempDir()
	for _, id := range []string{"L03-foreign-unlock", "L10-set-without-nx"} {
		if _, err := experiments.Save(store, entry(t, id).Record); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(store, "L10-set-without-nx", "latest", "history.jsonl"), 50); err != nil {
		t.Fatal(err)
	}
	got := newest(store, nil, claims.All())
	if len(got) != 2 || got[0].Judgement.Why != "" || got[1].Experiment.ID != "L10-set-without-nx" || got[1].Judgement.Why == "" {
		t.Errorf("%d runs: %+v", len(got), got)
	}
}

// The report of all experiments has at most 2 MB.
func TestTheReportOfALabIsSmall(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	most := 2_000_000 / len(claims.All())
	ran := slices.DeleteFunc(slices.Clone(lab()), func(s experiments.Saved) bool { return len(s.Record.Events) == 0 })
	for range len(ran) / 3 { // as many of them send 666 requests
		ran = append(ran, made(history.Counter, views(666, 19)...))
	}
	var whole bytes.Buffer
	if err := Lab(&whole, "", ran); err != nil {
		t.Fatal(err)
	}
	if each := whole.Len() / max(1, len(ran)); len(ran) == 0 || each > most {
		t.Errorf("%d experiments have %d bytes each, at most %d are allowed", len(ran), each, most)
	}
}

// The report of a store begins with what is not as expected, and links the report of each run. A run's report draws every variant.
func TestTheReportOfAStoreBeginsWithWhatIsNotAsExpected(t *testing.T) {
	store, ids := t.TempDir(), []string{"L03-foreign-unlock", "L04-shared-value", "L10-set-without-nx"}
	results := make([]experiments.Result, len(ids))
	for i, id := range ids {
		s := entry(t, id)
		if i == 1 {
			s.Record.Interrupted = true // inconclusive
		}
		dir, err := experiments.Save(store, s.Record)
		if err != nil {
			t.Fatal(err)
		}
		results[i].Saved = claims.All().Rejudge(dir)
	}
	all, judged := claims.All(), make(map[string]bool)
	for i, e := range all {
		all[i].Check = func(trial []history.Event) []history.Violation {
			judged[e.ID] = true
			return e.Check(trial)
		}
	}
	if _, err := Write(store, results[:2], all); err != nil || len(judged) != 1 || !judged[ids[2]] {
		t.Errorf("%v are judged again, want the one that no result has; %v", judged, err)
	}
	clear(judged)
	file, err := Write(store, results, all)
	if err != nil || len(judged) > 0 {
		t.Fatalf("%v are judged again; %v", judged, err)
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
	for _, id := range ids {
		own := id + "/latest/report.html"
		wants(t, page, `href="`+own+`"`)
		if _, err := os.Stat(filepath.Join(store, own)); err != nil {
			t.Error(err)
		}
	}
}

// Of a lab's experiments the first variant with a violation is drawn, the first without one, and each that is not as expected.
func TestWhatThePageOfALabDraws(t *testing.T) {
	found := &history.Violation{}
	control := experiments.VariantJudgement{Control: true, Trials: 1, Verdict: experiments.AsExpected}
	kept := experiments.VariantJudgement{Trials: 1, Verdict: experiments.AsExpected}
	violated := experiments.VariantJudgement{Trials: 1, Verdict: experiments.AsExpected, Violation: found}
	unclear := experiments.VariantJudgement{Trials: 1}
	unexpected := experiments.VariantJudgement{Trials: 1, Verdict: experiments.Unexpected, Violation: found}
	absent := experiments.VariantJudgement{LeftOut: "needs a program"}
	for _, c := range []struct {
		variants []experiments.VariantJudgement
		want     string
	}{
		{nil, ""},
		{[]experiments.VariantJudgement{control, violated, kept, violated, kept}, "-yy--"},
		{[]experiments.VariantJudgement{control, violated, violated}, "yy-"},
		{[]experiments.VariantJudgement{control, kept, unclear, kept, unexpected, violated}, "-yy-y-"},
		{[]experiments.VariantJudgement{control, absent, violated}, "y-y"},
	} {
		drawn := ""
		for _, is := range telling(c.variants) {
			drawn += map[bool]string{true: "y", false: "-"}[is]
		}
		if drawn != c.want {
			t.Errorf("%+v: %s, want %s", c.variants, drawn, c.want)
		}
	}
}
