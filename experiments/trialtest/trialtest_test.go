package trialtest

import (
	"testing"
	"time"

	"locklab/experiments"
)

func variants(t *testing.T, all []experiments.Variant, want ...string) {
	t.Helper()
	var names []string
	for _, v := range all {
		names = append(names, v.Name)
	}
	if len(names) != len(want) {
		t.Fatalf("the variants are %v, want %v", names, want)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Fatalf("the variants are %v, want %v", names, want)
		}
	}
}

var whole = experiments.Experiment{
	Schedule: experiments.Schedule{Takes: time.Minute},
	Variants: []experiments.Variant{
		{Name: "control"}, {Name: "lost", Expect: experiments.Sometimes}, {Name: "kept"}, {Name: "lost, too", Expect: experiments.Sometimes},
	},
}

// Only what showed nothing is repeated, with the control; a run that is void is repeated whole.
func TestRepeated(t *testing.T) {
	judged := func(void bool, verdicts ...experiments.Verdict) (j experiments.Judgement) {
		j.Void = void
		for i, v := range verdicts {
			j.Variants = append(j.Variants, experiments.VariantJudgement{Name: whole.Variants[i].Name, Verdict: v})
		}
		return j
	}
	const good, none, bad = experiments.AsExpected, experiments.Inconclusive, experiments.Unexpected
	variants(t, Repeated(whole, judged(false, good, none, good, good)), "control", "lost")
	variants(t, Repeated(whole, judged(false, good, good, bad, none)), "control", "kept", "lost, too")
	variants(t, Repeated(whole, judged(true, good, good, good, good)), "control", "lost", "kept", "lost, too")
	variants(t, Repeated(whole, judged(false, none, good, good, good)), "control", "lost", "kept", "lost, too")
	j := judged(false, good, none, none, good)
	j.Variants[1].LeftOut = "needs a server"
	variants(t, Repeated(whole, j), "control", "kept")
}

// A long experiment has its control and one variant of each expectation.
func TestSample(t *testing.T) {
	t.Setenv("LAB_CHECK", "")
	variants(t, Sample(whole, time.Second).Variants, "control", "kept", "lost")
	variants(t, Sample(whole, time.Minute).Variants, "control", "lost", "kept", "lost, too")
	t.Setenv("LAB_CHECK", "tests")
	variants(t, Sample(whole, time.Second).Variants, "control", "lost", "kept", "lost, too")
}
