package lab

import (
	"errors"
	"fmt"
	"slices"

	"locklab/lab/history"
)

// Judge says what r shows about e. It reads nothing but r: a saved run is judged as it was on the day.
//
// A violation in the control makes all the rest meaningless: then the run is inconclusive. So is one without a control, one
// that was interrupted, and one of other variants. A check may panic because
// it was not written for such a history: then the judgement is inconclusive, too.
func (e Experiment) Judge(r Record) (j Judgement) {
	defer func() {
		if p := recover(); p != nil {
			j = Judgement{Experiment: e.ID, Why: fmt.Sprintf("its history makes no sense: %v", p), Void: true}
		}
	}()
	j.Experiment = e.ID
	var verdicts []Verdict
	for i, variant := range e.Variants {
		v := e.judgeVariant(variant, r)
		v.Control = i == 0
		j.Variants = append(j.Variants, v)
		if v.LeftOut == "" {
			verdicts = append(verdicts, v.Verdict)
		}
	}
	j.Verdict = Worst(verdicts...)
	if why := e.void(r, j); why != "" {
		j.Verdict, j.Why, j.Void = Inconclusive, why, true
	}
	if j.Why == "" && j.Verdict != AsExpected {
		at := slices.IndexFunc(j.Variants, func(v VariantJudgement) bool { return v.Verdict == j.Verdict && v.LeftOut == "" })
		j.Why = fmt.Sprintf("%s: %s", j.Variants[at].Name, j.Variants[at].Why)
	}
	return j
}

// void says why nothing can be concluded from a run, whatever its variants show; empty: something can.
func (e Experiment) void(r Record, j Judgement) string {
	other := slices.IndexFunc(r.Variants, func(ran VariantRecord) bool {
		return !slices.ContainsFunc(e.Variants, func(v Variant) bool { return v.Name == ran.Name })
	})
	switch {
	case len(e.Variants) < 2 || e.Control().Expect != Never:
		return "it has no control: nothing is shown"
	case r.Experiment != e.ID:
		return fmt.Sprintf("it is a run of %q", r.Experiment)
	case other >= 0:
		return fmt.Sprintf("its variant %q is no longer part of this experiment: run it again", r.Variants[other].Name)
	case j.Variants[0].Violations > 0:
		return fmt.Sprintf("the control %q has a violation, too, so nothing is shown: %s", j.Variants[0].Name, j.Variants[0].Why)
	case j.Verdict == Unexpected: // the violation was seen, however the run ended
		return ""
	case r.Left != "":
		return "it was interrupted, and not everything was removed: " + r.Left
	case r.Interrupted:
		return "it was interrupted"
	case j.Variants[0].Verdict != AsExpected:
		return fmt.Sprintf("the control %q showed nothing, so nothing else does: %s", j.Variants[0].Name, j.Variants[0].Why)
	case r.Count != len(r.Events):
		return fmt.Sprintf("its history has %d events, and should have %d", len(r.Events), r.Count)
	}
	return ""
}

func (e Experiment) judgeVariant(variant Variant, r Record) VariantJudgement {
	v := VariantJudgement{Name: variant.Name, Expect: variant.Expect, Strategy: variant.Strategy}
	var o Outcome
	at := slices.IndexFunc(r.Variants, func(ran VariantRecord) bool { return ran.Name == variant.Name })
	if at < 0 {
		o.Err = errors.New("this variant did not run")
	} else if v.LeftOut = r.Variants[at].LeftOut; v.LeftOut != "" {
		o.Err = errors.New("left out: it " + v.LeftOut)
	} else {
		o = e.judgeTrials(variant, r.Variants[at], r.Events, &v)
	}
	v.Trials, v.Violations = o.Trials, o.Violations
	v.Verdict = Judge(variant.Expect, o)
	v.Why = v.Verdict.Because(o)
	if v.Verdict == Unexpected && v.Violation != nil {
		v.Why = v.Violation.What
	}
	return v
}

// judgeTrials counts in v what the trials of a variant showed.
func (e Experiment) judgeTrials(variant Variant, ran VariantRecord, all []history.Event, v *VariantJudgement) (o Outcome) {
	seen := make(map[int]bool)
	for _, t := range ran.Trials {
		if seen[t.Number] {
			o.Err = errors.Join(o.Err, fmt.Errorf("trial %d is recorded twice", t.Number))
			continue
		}
		seen[t.Number] = true
		events := history.Of(all, variant.Name, t.Number)
		found := e.Check(events)
		if len(found) == 0 && ran.wasLate(t.Number) {
			v.Late++
			continue
		}
		o.Trials++
		if t.Repeats > 0 && !ran.wasLate(t.Repeats) {
			v.Repeats++
		}
		o.Err = errors.Join(o.Err, sound(variant, ran, t, events))
		if len(found) > 0 {
			o.Violations++
			if v.Violation == nil {
				v.Violation, v.Evidence = &found[0], history.Explain(events, found[0])
			}
		}
	}
	return o
}

// sound says why a trial proves nothing: it failed, it recorded nothing, or its fault has no proof.
func sound(variant Variant, ran VariantRecord, t TrialRecord, events []history.Event) error {
	prefix := fmt.Sprintf("trial %d: ", t.Number)
	if t.Err != "" {
		return errors.New(prefix + t.Err)
	}
	if err := ran.repeated(variant, t); err != nil {
		return fmt.Errorf("%s%w", prefix, err)
	}
	if len(events) == 0 {
		return errors.New(prefix + "it recorded nothing")
	}
	faulty := false
	for _, e := range events {
		if e.Kind == history.Fault {
			faulty = true
			if e.Proof == "" {
				return fmt.Errorf("%snothing proves that its fault happened: %s %s", prefix, e.Timeline, e.Text)
			}
		}
	}
	if variant.Fault && !faulty {
		return errors.New(prefix + "its fault did not happen")
	}
	return nil
}
