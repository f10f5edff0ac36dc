package outcome

import (
	"slices"
	"strings"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/versions"
)

// Version is the version that a variant runs, where its name does not say so; empty: it does, or the variant runs none.
func Version(name, strategy string) string {
	if slices.Contains(versions.Names(), strategy) && !strings.Contains(name, strategy) {
		return strategy
	}
	return ""
}

// Telling selects the variants that a short report draws: a violation, its remedy, and each that is not as predicted. Violation and remedy
// are of the same lock if there are two such variants. The control is the remedy where no other variant is without a violation.
func Telling(variants []lab.VariantJudgement) []bool {
	all := make([]bool, len(variants))
	for i, v := range variants {
		all[i] = v.Verdict != lab.AsExpected && v.LeftOut == ""
	}
	violation, remedy := pair(variants)
	for _, i := range []int{violation, remedy} {
		if i >= 0 {
			all[i] = true
		}
	}
	return all
}

// pair is the violation and its remedy, as indexes; -1: there is none.
func pair(variants []lab.VariantJudgement) (violation, remedy int) {
	first := func(is ...func(lab.VariantJudgement) bool) int {
		for _, is := range is {
			if i := slices.IndexFunc(variants, is); i >= 0 {
				return i
			}
		}
		return -1
	}
	protected := func(v lab.VariantJudgement) bool { return v.Violation == nil && v.Trials > 0 }
	other := func(v lab.VariantJudgement) bool { return !v.Control && protected(v) }
	sameLock := func(v lab.VariantJudgement) int {
		return first(func(o lab.VariantJudgement) bool { return other(o) && v.Strategy != "" && o.Strategy == v.Strategy })
	}
	violated := func(v lab.VariantJudgement) bool { return v.Violation != nil }
	violation = first(
		func(v lab.VariantJudgement) bool { return violated(v) && sameLock(v) >= 0 },
		func(v lab.VariantJudgement) bool { return violated(v) && !writesUnread(v) },
		violated,
	)
	if violation >= 0 {
		if remedy = sameLock(variants[violation]); remedy >= 0 {
			return violation, remedy
		}
	}
	ours := func(v lab.VariantJudgement) bool { return other(v) && slices.Contains(versions.Names(), v.Strategy) }
	return violation, first(ours, other, protected)
}

// writesUnread reports whether the evidence has writes and no read: instances of a burst say only what they wrote.
func writesUnread(v lab.VariantJudgement) bool {
	has := func(k history.Kind) bool {
		return slices.ContainsFunc(v.Evidence, func(e history.Event) bool { return e.Kind == k })
	}
	return has(history.Write) && !has(history.Read)
}
