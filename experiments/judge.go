package experiments

import (
	"errors"
	"fmt"
	"slices"

	"locklab/history"
)

// Judgement is what a record says about a claim.
type Judgement struct {
	Experiment string             `json:"experiment"`
	Verdict    Verdict            `json:"verdict"`
	Why        string             `json:"why,omitempty"`  // it is not supported
	Void       bool               `json:"void,omitempty"` // what is wrong is the run, so that no arm of it shows anything
	Variants   []VariantJudgement `json:"arms"`
}

// VariantJudgement is what it says about an arm.
type VariantJudgement struct {
	Name       string             `json:"name"`
	Control    bool               `json:"control,omitempty"`
	Expect     Expect             `json:"expect"`
	Strategy   string             `json:"strategy,omitempty"`
	Trials     int                `json:"trials"`
	Violations int                `json:"breaches"` // trials with one
	Verdict    Verdict            `json:"verdict"`
	Why        string             `json:"why,omitempty"`
	Violation  *history.Violation `json:"finding,omitempty"`  // the first breach
	Evidence   []history.Event    `json:"evidence,omitempty"` // the smallest slice that shows it
}

// Seen is what the arm's trials showed, in a few words.
func (a VariantJudgement) Seen() string {
	switch {
	case a.Trials == 0:
		return "no trial"
	case a.Violations > 0:
		return fmt.Sprintf("broken in %d of %d", a.Violations, a.Trials)
	}
	return fmt.Sprintf("held in %d", a.Trials)
}

// Judge says what r shows about e. It looks at nothing but r: a saved run is judged as it was on the day.
//
// A breach in the control takes the meaning from all the rest: then the run is inconclusive. So is one without a
// control, one that was interrupted, one of other arms, and one in which our checks and porcupine do not agree.
func (e Experiment) Judge(r Record) Judgement {
	j := Judgement{Experiment: e.ID}
	var verdicts []Verdict
	for i, arm := range e.Variants {
		a := e.judgeArm(arm, r)
		a.Control = i == 0
		j.Variants = append(j.Variants, a)
		verdicts = append(verdicts, a.Verdict)
	}
	j.Verdict = Worst(verdicts...)
	if why := e.void(r, j); why != "" {
		j.Verdict, j.Why, j.Void = Inconclusive, why, true
	}
	if j.Why == "" && j.Verdict != AsExpected {
		at := slices.IndexFunc(j.Variants, func(a VariantJudgement) bool { return a.Verdict == j.Verdict })
		j.Why = fmt.Sprintf("%s: %s", j.Variants[at].Name, j.Variants[at].Why)
	}
	return j
}

// void says why nothing can be concluded from a run, whatever its arms show; empty: something can.
func (e Experiment) void(r Record, j Judgement) string {
	other := slices.IndexFunc(r.Variants, func(m VariantRecord) bool {
		return !slices.ContainsFunc(e.Variants, func(a Variant) bool { return a.Name == m.Name })
	})
	switch {
	case len(e.Variants) < 2 || e.Control().Expect != Never:
		return "it has no control: nothing is shown"
	case r.Experiment != e.ID:
		return fmt.Sprintf("it is a run of %q", r.Experiment)
	case other >= 0:
		return fmt.Sprintf("its arm %q is none of this experiment's any more: run it again", r.Variants[other].Name)
	case j.Variants[0].Violations > 0:
		return fmt.Sprintf("the control %q was broken too, so nothing is shown: %s", j.Variants[0].Name, j.Variants[0].Why)
	case j.Verdict == Unexpected: // what was seen was seen, however the run ended
		return ""
	case r.Left != "":
		return "it was interrupted, and not all was undone: " + r.Left
	case r.Interrupted:
		return "it was interrupted"
	case j.Variants[0].Verdict != AsExpected:
		return fmt.Sprintf("the control %q showed nothing, so nothing else does: %s", j.Variants[0].Name, j.Variants[0].Why)
	case r.Count != len(r.Events):
		return fmt.Sprintf("its history has %d events, and should have %d", len(r.Events), r.Count)
	}
	return ""
}

func (e Experiment) judgeArm(arm Variant, r Record) VariantJudgement {
	a := VariantJudgement{Name: arm.Name, Expect: arm.Expect, Strategy: arm.Strategy}
	var o Outcome
	at := slices.IndexFunc(r.Variants, func(m VariantRecord) bool { return m.Name == arm.Name })
	if at < 0 {
		o.Err = errors.New("this arm did not run")
	} else {
		seen := make(map[int]bool)
		for _, t := range r.Variants[at].Trials {
			if seen[t.Number] {
				o.Err = errors.Join(o.Err, fmt.Errorf("trial %d is there twice", t.Number))
				continue
			}
			seen[t.Number] = true
			events := history.Of(r.Events, arm.Name, t.Number)
			found := e.Check(events)
			o.Trials++
			o.Err = errors.Join(o.Err, sound(arm, t, events))
			if len(found) > 0 {
				o.Violations++
				if a.Violation == nil {
					a.Violation, a.Evidence = &found[0], history.Explain(events, found[0])
				}
			}
		}
	}
	a.Trials, a.Violations = o.Trials, o.Violations
	a.Verdict = Judge(arm.Expect, o)
	a.Why = a.Verdict.Because(o)
	if a.Verdict == Unexpected && a.Violation != nil {
		a.Why = a.Violation.What
	}
	return a
}

// sound says why a trial proves nothing: it failed, it recorded nothing, its fault was not seen to happen, or the checkers disagree.
func sound(arm Variant, t TrialRecord, events []history.Event) error {
	prefix := fmt.Sprintf("trial %d: ", t.Number)
	if t.Err != "" {
		return errors.New(prefix + t.Err)
	}
	if len(events) == 0 {
		return errors.New(prefix + "it recorded nothing")
	}
	faults := 0
	for _, e := range events {
		if e.Kind == history.Fault {
			faults++
			if e.Proof == "" {
				return fmt.Errorf("%snothing proves that its fault happened: %s %s", prefix, e.Timeline, e.Text)
			}
		}
	}
	if arm.Fault && faults == 0 {
		return errors.New(prefix + "its fault did not happen")
	}
	if err := history.Agree(events); err != nil {
		return fmt.Errorf("%s%w", prefix, err)
	}
	return nil
}
