package outcome_test

import (
	"testing"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/report/outcome"
)

// A short report draws a violation and its remedy, of one lock if there is such a pair, and each variant that is not as predicted.
func TestAShortReportDrawsTheLesson(t *testing.T) {
	found, writes := &history.Violation{}, []history.Event{{Kind: history.Write}}
	control := lab.VariantJudgement{Control: true, Trials: 1, Verdict: lab.AsExpected}
	kept := lab.VariantJudgement{Trials: 1, Verdict: lab.AsExpected}
	violated := lab.VariantJudgement{Trials: 1, Verdict: lab.AsExpected, Violation: found}
	unclear := lab.VariantJudgement{Trials: 1}
	unexpected := lab.VariantJudgement{Trials: 1, Verdict: lab.Unexpected, Violation: found}
	absent := lab.VariantJudgement{LeftOut: "needs a program"}
	of := func(strategy string, v lab.VariantJudgement) lab.VariantJudgement {
		v.Strategy = strategy
		return v
	}
	burst := violated
	burst.Evidence = writes
	for _, c := range []struct {
		variants []lab.VariantJudgement
		want     string
	}{
		{nil, ""},
		{[]lab.VariantJudgement{control, violated, kept, violated, kept}, "-yy--"},
		{[]lab.VariantJudgement{control, violated, violated}, "yy-"},
		{[]lab.VariantJudgement{control, kept, unclear, kept, unexpected, violated}, "-yy-y-"},
		{[]lab.VariantJudgement{control, absent, violated}, "y-y"},
		{[]lab.VariantJudgement{control, of("SET NX PX", violated), of("v3", violated), of("v3", kept)}, "--yy"},
		{[]lab.VariantJudgement{control, of("SET NX PX", violated), of("naive SETNX", kept), of("v3", kept)}, "-y-y"},
		{[]lab.VariantJudgement{control, burst, violated}, "y-y"}, // it shows the reads, too
	} {
		drawn := ""
		for _, is := range outcome.Telling(c.variants) {
			drawn += map[bool]string{true: "y", false: "-"}[is]
		}
		if drawn != c.want {
			t.Errorf("%+v: %s, want %s", c.variants, drawn, c.want)
		}
	}
}
