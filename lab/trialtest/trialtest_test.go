package trialtest

import (
	"testing"
	"time"

	"locklab/lab"
)

func variants(t *testing.T, all []lab.Variant, want ...string) {
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

var whole = lab.Experiment{
	Schedule: lab.Schedule{Takes: time.Minute},
	Variants: []lab.Variant{
		{Name: "control"}, {Name: "lost", Expect: lab.Sometimes}, {Name: "kept"}, {Name: "lost, too", Expect: lab.Sometimes},
	},
}

// Only what showed nothing is repeated, with the control; a run that is void is repeated whole.
func TestRepeated(t *testing.T) {
	judged := func(void bool, verdicts ...lab.Verdict) (j lab.Judgement) {
		j.Void = void
		for i, v := range verdicts {
			j.Variants = append(j.Variants, lab.VariantJudgement{Name: whole.Variants[i].Name, Verdict: v})
		}
		return j
	}
	const good, none, bad = lab.AsExpected, lab.Inconclusive, lab.Unexpected
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
	const nothing, bad = lab.Inconclusive, lab.Unexpected
	for name, c := range map[string]struct {
		seen  []lab.Verdict
		stall time.Duration
		want  bool
	}{
		"nothing":                               {[]lab.Verdict{nothing}, 0, true},
		"nothing, twice":                        {[]lab.Verdict{nothing, nothing}, 0, true},
		"nothing, three times":                  {[]lab.Verdict{nothing, nothing, nothing}, stalled, false},
		"unexpected":                            {[]lab.Verdict{bad}, stalled - 1, false},
		"unexpected after a stall":              {[]lab.Verdict{bad}, stalled, true},
		"unexpected after a stall, twice":       {[]lab.Verdict{bad, bad}, stalled, false},
		"nothing, then unexpected":              {[]lab.Verdict{nothing, bad}, 0, false},
		"nothing, then unexpected after stall":  {[]lab.Verdict{nothing, bad}, stalled, true},
		"unexpected after a stall, and nothing": {[]lab.Verdict{bad, nothing}, stalled, true},
		"unexpected on both sides of nothing":   {[]lab.Verdict{bad, nothing, bad}, stalled, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := again(c.seen, c.stall); got != c.want {
				t.Errorf("it is run again: %t", got)
			}
		})
	}
}
