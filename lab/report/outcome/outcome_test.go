package outcome_test

import (
	"math/big"
	"testing"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/report/outcome"
)

// Only what lost nothing is good, whatever was predicted. A loss stays one in each scenario, also where the counter hides it.
func TestALossIsNeverGood(t *testing.T) {
	const kept, lost, worse, unclear = outcome.Good, outcome.Bad, outcome.Alarm, outcome.Unclear
	predicted, unexpected, inconclusive := lab.AsExpected, lab.Unexpected, lab.Inconclusive
	counts := func(lost, twice int) burst.Counts { return burst.Counts{Lost: lost, Across: twice} }
	explored := func(violating int64, v *lab.Verdict) outcome.Outcome {
		l := lab.ExploredLock{Verdict: v}
		l.Interleavings, l.Violating = big.NewInt(136), big.NewInt(violating)
		return outcome.Explored(l)
	}
	for _, c := range []struct {
		got   outcome.Outcome
		words string
		tone  outcome.Tone
	}{
		{outcome.Views("v1", counts(648, 7), predicted), "648 views lost, as predicted", lost},
		{outcome.Views("v1", counts(1, 0), predicted), "1 view lost, as predicted", lost},
		{outcome.Views("v2", counts(0, 7), predicted), "7 values written twice, as predicted", lost},
		{outcome.Views("v1", counts(0, 0), predicted), "some counted twice, as predicted", lost},
		{outcome.Views("v1", counts(0, 0), inconclusive), "nothing lost, inconclusive", unclear},
		{outcome.Views("v3", counts(0, 0), predicted), "nothing lost, as predicted", kept},
		{outcome.Views("v3", counts(2, 0), unexpected), "2 views lost, unexpected", worse},
		{outcome.Views("v3", counts(0, 0), unexpected), "some counted twice, unexpected", worse},
		{outcome.ViewsBeside("v1", counts(648, 7), 0, predicted), "as predicted", lost},
		{outcome.ViewsBeside("v2", counts(0, 7), 0, predicted), "7 written twice, as predicted", lost},
		{outcome.ViewsBeside("v1", counts(0, 0), 0, predicted), "some counted twice, as predicted", lost},
		{outcome.ViewsBeside("v3", counts(0, 0), 0, predicted), "as predicted", kept},
		{outcome.ViewsBeside("v3", counts(0, 2), 0, unexpected), "2 written twice, unexpected", worse},
		{outcome.ViewsBeside("v3", counts(0, 0), 3, inconclusive), "3 failed, inconclusive", unclear},
		{outcome.WinnersBeside(20, 0, predicted), "as predicted", lost},
		{outcome.WinnersBeside(1, 0, predicted), "as predicted", kept},
		{outcome.WinnersBeside(2, 1, unexpected), "1 failed, unexpected", worse},
		{outcome.Winners(20, predicted), "20 winners, 19 too many, as predicted", lost},
		{outcome.Winners(1, predicted), "one winner, as predicted", kept},
		{outcome.Winners(2, unexpected), "2 winners, 1 too many, unexpected", worse},
		{outcome.Winners(0, inconclusive), "no winner, inconclusive", unclear},
		{explored(62, &predicted), "violation in 62 of 136 interleavings, as predicted", lost},
		{explored(0, &predicted), "no violation in all 136 interleavings, as predicted", kept},
		{explored(62, nil), "violation in 62 of 136 interleavings, not claimed", outcome.Neutral},
		{outcome.Variant(lab.VariantJudgement{LeftOut: "needs etcd"}), "left out", unclear},
		{outcome.Whole(predicted), "as predicted", outcome.Neutral},
		{outcome.Whole(unexpected), "unexpected", worse},
		{outcome.Whole(inconclusive), "inconclusive", unclear},
	} {
		if c.got.Words != c.words || c.got.Tone != c.tone {
			t.Errorf("it is %+v, want %q, %v", c.got, c.words, c.tone)
		}
	}
}
