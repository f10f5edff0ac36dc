package lab

import (
	"fmt"
	"strings"
)

// Ran counts the variants that were not left out, and all of them.
func (j Judgement) Ran() (ran, all int) {
	for _, v := range j.Variants {
		if v.LeftOut == "" {
			ran++
		}
	}
	return ran, len(j.Variants)
}

// VariantsLeftOut has a sentence for each reason why variants were left out, with their number in each run. A reason that many of them
// share is said once. The verdicts do not count these variants.
func VariantsLeftOut(runs ...Judgement) (sentences []string) {
	var reasons []string
	left := make(map[string][]string) // by reason
	for _, j := range runs {
		n := make(map[string]int)
		for _, v := range j.Variants {
			if v.LeftOut != "" {
				n[v.LeftOut]++
			}
		}
		for _, v := range j.Variants {
			if n[v.LeftOut] == 0 {
				continue
			}
			if left[v.LeftOut] == nil {
				reasons = append(reasons, v.LeftOut)
			}
			left[v.LeftOut] = append(left[v.LeftOut], fmt.Sprintf("%d of %d variants of %s", n[v.LeftOut], len(j.Variants), j.Experiment))
			delete(n, v.LeftOut)
		}
	}
	for _, why := range reasons {
		sentences = append(sentences, fmt.Sprintf("%s: each %s", strings.Join(left[why], ", "), why))
	}
	return sentences
}

// WouldLeaveOut is [VariantsLeftOut] of a run that has not begun.
func (o Options) WouldLeaveOut(all ...Experiment) []string {
	runs := make([]Judgement, len(all))
	for i, e := range all {
		runs[i].Experiment = e.ID
		for _, v := range e.Variants {
			runs[i].Variants = append(runs[i].Variants, VariantJudgement{LeftOut: o.LeavesOut(v)})
		}
	}
	return VariantsLeftOut(runs...)
}
