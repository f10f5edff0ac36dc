package lab

import (
	"fmt"
	"strings"

	"locklab/lab/history"
)

// Judgement is what a record says about a claim.
type Judgement struct {
	Experiment string             `json:"experiment"`
	Verdict    Verdict            `json:"verdict"`
	Why        string             `json:"why,omitempty"`  // it is not as expected
	Void       bool               `json:"void,omitempty"` // the run itself is unusable, so that no variant of it shows anything
	Variants   []VariantJudgement `json:"variants"`
}

// VariantJudgement is what a record says about a variant.
type VariantJudgement struct {
	Name       string             `json:"name"`
	Control    bool               `json:"control,omitempty"`
	Expect     Expect             `json:"expect"`
	Strategy   string             `json:"strategy,omitempty"`
	Trials     int                `json:"trials"`
	Repeats    int                `json:"repeats,omitempty"` // of these trials; see [Trial.ByChance]
	Late       int                `json:"late,omitempty"`    // trials beside these, which show nothing; see [MostRepeats]
	Violations int                `json:"violations"`        // trials with one
	Verdict    Verdict            `json:"verdict"`
	Why        string             `json:"why,omitempty"`
	LeftOut    string             `json:"left_out,omitempty"`  // see VariantRecord; the experiment's verdict does not count the variant
	Violation  *history.Violation `json:"violation,omitempty"` // the first one
	Evidence   []history.Event    `json:"evidence,omitempty"`  // the smallest slice that shows it
}

// Seen is what the variant's trials showed, in a few words.
func (v VariantJudgement) Seen() string {
	switch {
	case v.LeftOut != "":
		return "left out"
	case v.Trials == 0:
		return "no trial"
	case v.Violations > 0:
		return fmt.Sprintf("violation in %d of %s", v.Violations, v.trials())
	}
	return "no violation in " + v.trials()
}

// trials counts them, and says how many are repeats, and how many others were late.
func (v VariantJudgement) trials() string {
	var more []string
	switch v.Repeats {
	case 0:
	case 1:
		more = append(more, "1 repeat")
	default:
		more = append(more, fmt.Sprintf("%d repeats", v.Repeats))
	}
	if v.Late > 0 {
		more = append(more, fmt.Sprintf("%d late, run again", v.Late))
	}
	if len(more) == 0 {
		return trialCount(v.Trials)
	}
	return fmt.Sprintf("%s (%s)", trialCount(v.Trials), strings.Join(more, ", "))
}

func trialCount(n int) string {
	if n == 1 {
		return "1 trial"
	}
	return fmt.Sprintf("%d trials", n)
}
