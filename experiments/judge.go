package experiments

import (
	"errors"
	"fmt"
	"slices"

	"locklab/experiments/history"
)

// Judgement is what a record says about a claim.
type Judgement struct {
	Experiment string         `json:"experiment"`
	Verdict    Verdict        `json:"verdict"`
	Why        string         `json:"why,omitempty"`  // it is not supported
	Void       bool           `json:"void,omitempty"` // what is wrong is the run, so that no arm of it shows anything
	Arms       []ArmJudgement `json:"arms"`
}

// ArmJudgement is what it says about an arm.
type ArmJudgement struct {
	Name     string           `json:"name"`
	Control  bool             `json:"control,omitempty"`
	Expect   Expect           `json:"expect"`
	Strategy string           `json:"strategy,omitempty"`
	Trials   int              `json:"trials"`
	Breaches int              `json:"breaches"` // trials with one
	Verdict  Verdict          `json:"verdict"`
	Why      string           `json:"why,omitempty"`
	Finding  *history.Finding `json:"finding,omitempty"`  // the first breach
	Evidence []history.Event  `json:"evidence,omitempty"` // the smallest slice that shows it
}

// Seen is what the arm's trials showed, in a few words.
func (a ArmJudgement) Seen() string {
	switch {
	case a.Trials == 0:
		return "no trial"
	case a.Breaches > 0:
		return fmt.Sprintf("broken in %d of %d", a.Breaches, a.Trials)
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
	for i, arm := range e.Arms {
		a := e.judgeArm(arm, r)
		a.Control = i == 0
		j.Arms = append(j.Arms, a)
		verdicts = append(verdicts, a.Verdict)
	}
	j.Verdict = Worst(verdicts...)
	if why := e.void(r, j); why != "" {
		j.Verdict, j.Why, j.Void = Inconclusive, why, true
	}
	if j.Why == "" && j.Verdict != Supported {
		at := slices.IndexFunc(j.Arms, func(a ArmJudgement) bool { return a.Verdict == j.Verdict })
		j.Why = fmt.Sprintf("%s: %s", j.Arms[at].Name, j.Arms[at].Why)
	}
	return j
}

// void says why nothing can be concluded from a run, whatever its arms show; empty: something can.
func (e Experiment) void(r Record, j Judgement) string {
	other := slices.IndexFunc(r.Arms, func(m ArmRecord) bool {
		return !slices.ContainsFunc(e.Arms, func(a Arm) bool { return a.Name == m.Name })
	})
	switch {
	case len(e.Arms) < 2 || e.Control().Expect != Never:
		return "it has no control: nothing is shown"
	case r.Experiment != e.ID:
		return fmt.Sprintf("it is a run of %q", r.Experiment)
	case other >= 0:
		return fmt.Sprintf("its arm %q is none of this experiment's any more: run it again", r.Arms[other].Name)
	case j.Arms[0].Breaches > 0:
		return fmt.Sprintf("the control %q was broken too, so nothing is shown: %s", j.Arms[0].Name, j.Arms[0].Why)
	case j.Verdict == Refuted: // what was seen was seen, however the run ended
		return ""
	case r.Left != "":
		return "it was interrupted, and not all was undone: " + r.Left
	case r.Interrupted:
		return "it was interrupted"
	case j.Arms[0].Verdict != Supported:
		return fmt.Sprintf("the control %q showed nothing, so nothing else does: %s", j.Arms[0].Name, j.Arms[0].Why)
	case r.Count != len(r.Events):
		return fmt.Sprintf("its history has %d events, and should have %d", len(r.Events), r.Count)
	}
	return ""
}

func (e Experiment) judgeArm(arm Arm, r Record) ArmJudgement {
	a := ArmJudgement{Name: arm.Name, Expect: arm.Expect, Strategy: arm.Strategy}
	var o Outcome
	at := slices.IndexFunc(r.Arms, func(m ArmRecord) bool { return m.Name == arm.Name })
	if at < 0 {
		o.Err = errors.New("this arm did not run")
	} else {
		seen := make(map[int]bool)
		for _, t := range r.Arms[at].Trials {
			if seen[t.Number] {
				o.Err = errors.Join(o.Err, fmt.Errorf("trial %d is there twice", t.Number))
				continue
			}
			seen[t.Number] = true
			events := history.Of(r.Events, arm.Name, t.Number)
			found := e.Breach(events)
			o.Trials++
			o.Err = errors.Join(o.Err, sound(arm, t, events))
			if len(found) > 0 {
				o.Breaches++
				if a.Finding == nil {
					a.Finding, a.Evidence = &found[0], history.Explain(events, found[0])
				}
			}
		}
	}
	a.Trials, a.Breaches = o.Trials, o.Breaches
	a.Verdict = Judge(arm.Expect, o)
	a.Why = a.Verdict.Because(o)
	if a.Verdict == Refuted && a.Finding != nil {
		a.Why = a.Finding.What
	}
	return a
}

// sound says why a trial proves nothing: it failed, it recorded nothing, its fault was not seen to happen, or the checkers disagree.
func sound(arm Arm, t TrialRecord, events []history.Event) error {
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
				return fmt.Errorf("%snothing proves that its fault happened: %s %s", prefix, e.Lane, e.Text)
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
