package lab

import (
	"errors"
	"testing"
)

func TestJudge(t *testing.T) {
	failed := errors.New("the run failed")
	for _, c := range []struct {
		expect Expect
		o      Outcome
		want   Verdict
	}{
		{Never, Outcome{}, Inconclusive},
		{Never, Outcome{Trials: 1}, AsExpected},
		{Never, Outcome{Trials: 1, Err: failed}, Inconclusive},
		{Never, Outcome{Err: failed}, Inconclusive},
		{Never, Outcome{Trials: 1, Violations: 1}, Unexpected},
		{Never, Outcome{Trials: 1, Violations: 1, Err: failed}, Unexpected},
		{Never, Outcome{Violations: 1}, Unexpected},
		{Never, Outcome{Violations: 1, Err: failed}, Unexpected},
		{Sometimes, Outcome{}, Inconclusive},
		{Sometimes, Outcome{Trials: 1}, Inconclusive},
		{Sometimes, Outcome{Trials: 1, Err: failed}, Inconclusive},
		{Sometimes, Outcome{Err: failed}, Inconclusive},
		{Sometimes, Outcome{Trials: 1, Violations: 1}, AsExpected},
		{Sometimes, Outcome{Trials: 1, Violations: 1, Err: failed}, Inconclusive},
		{Sometimes, Outcome{Violations: 1}, Inconclusive},
		{Sometimes, Outcome{Violations: 1, Err: failed}, Inconclusive},
	} {
		if got := Judge(c.expect, c.o); got != c.want {
			t.Errorf("expect %d, %+v: %s, want %s", c.expect, c.o, got, c.want)
		}
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct {
		verdicts []Verdict
		want     Verdict
	}{
		{nil, Inconclusive},
		{[]Verdict{AsExpected}, AsExpected},
		{[]Verdict{AsExpected, AsExpected}, AsExpected},
		{[]Verdict{Inconclusive, AsExpected}, Inconclusive},
		{[]Verdict{AsExpected, Inconclusive, AsExpected}, Inconclusive},
		{[]Verdict{Inconclusive, Unexpected}, Unexpected},
		{[]Verdict{Unexpected, AsExpected, Inconclusive}, Unexpected},
	} {
		if got := Worst(c.verdicts...); got != c.want {
			t.Errorf("%v: %s, want %s", c.verdicts, got, c.want)
		}
	}
}
