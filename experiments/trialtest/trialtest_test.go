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
	t.Setenv("LAB_PARTS", "")
	variants(t, Sample(whole, time.Second).Variants, "control", "kept", "lost")
	variants(t, Sample(whole, time.Minute).Variants, "control", "lost", "kept", "lost, too")
	t.Setenv("LAB_PARTS", "tests")
	variants(t, Sample(whole, time.Second).Variants, "control", "lost", "kept", "lost, too")
}

// An experiment that shows nothing is run three times in all. One that is unexpected is run again once, after a stall.
func TestAgain(t *testing.T) {
	const nothing, bad = experiments.Inconclusive, experiments.Unexpected
	for name, c := range map[string]struct {
		seen  []experiments.Verdict
		stall time.Duration
		want  bool
	}{
		"nothing":                               {[]experiments.Verdict{nothing}, 0, true},
		"nothing, twice":                        {[]experiments.Verdict{nothing, nothing}, 0, true},
		"nothing, three times":                  {[]experiments.Verdict{nothing, nothing, nothing}, stalled, false},
		"unexpected":                            {[]experiments.Verdict{bad}, stalled - 1, false},
		"unexpected after a stall":              {[]experiments.Verdict{bad}, stalled, true},
		"unexpected after a stall, twice":       {[]experiments.Verdict{bad, bad}, stalled, false},
		"nothing, then unexpected":              {[]experiments.Verdict{nothing, bad}, 0, false},
		"nothing, then unexpected after stall":  {[]experiments.Verdict{nothing, bad}, stalled, true},
		"unexpected after a stall, and nothing": {[]experiments.Verdict{bad, nothing}, stalled, true},
		"unexpected on both sides of nothing":   {[]experiments.Verdict{bad, nothing, bad}, stalled, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := again(c.seen, c.stall); got != c.want {
				t.Errorf("it is run again: %t", got)
			}
		})
	}
}
