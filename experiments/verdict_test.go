package experiments

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestJudge(t *testing.T) {
	broken := errors.New("the run failed")
	for _, c := range []struct {
		expect Expect
		o      Outcome
		want   Verdict
	}{
		{Never, Outcome{}, Inconclusive},
		{Never, Outcome{Trials: 1}, Supported},
		{Never, Outcome{Trials: 1, Err: broken}, Inconclusive},
		{Never, Outcome{Err: broken}, Inconclusive},
		{Never, Outcome{Trials: 1, Breaches: 1}, Refuted},
		{Never, Outcome{Trials: 1, Breaches: 1, Err: broken}, Refuted},
		{Never, Outcome{Breaches: 1}, Refuted},
		{Never, Outcome{Breaches: 1, Err: broken}, Refuted},
		{Sometimes, Outcome{}, Inconclusive},
		{Sometimes, Outcome{Trials: 1}, Inconclusive},
		{Sometimes, Outcome{Trials: 1, Err: broken}, Inconclusive},
		{Sometimes, Outcome{Err: broken}, Inconclusive},
		{Sometimes, Outcome{Trials: 1, Breaches: 1}, Supported},
		{Sometimes, Outcome{Trials: 1, Breaches: 1, Err: broken}, Inconclusive},
		{Sometimes, Outcome{Breaches: 1}, Inconclusive},
		{Sometimes, Outcome{Breaches: 1, Err: broken}, Inconclusive},
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
		{[]Verdict{Supported}, Supported},
		{[]Verdict{Supported, Supported}, Supported},
		{[]Verdict{Inconclusive, Supported}, Inconclusive},
		{[]Verdict{Supported, Inconclusive, Supported}, Inconclusive},
		{[]Verdict{Inconclusive, Refuted}, Refuted},
		{[]Verdict{Refuted, Supported, Inconclusive}, Refuted},
	} {
		if got := Worst(c.verdicts...); got != c.want {
			t.Errorf("%v: %s, want %s", c.verdicts, got, c.want)
		}
	}
}

func TestForgottenVerdictIsInconclusive(t *testing.T) {
	text, err := json.Marshal(struct{ V Verdict }{})
	if err != nil || string(text) != `{"V":"inconclusive"}` {
		t.Fatalf("%s, %v", text, err)
	}
}
