package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"locklab/experiments"
)

// verdict is a verdict as a page shows it: by a sign, words and a colour.
type verdict struct {
	Class string // of the sign, and of the style
	Text  string
}

// count is the number of experiments with a verdict.
type count struct {
	verdict
	N int
}

func verdictOf(v experiments.Verdict) verdict {
	class := map[experiments.Verdict]string{experiments.AsExpected: "as-expected", experiments.Unexpected: "unexpected"}[v]
	return verdict{cmp.Or(class, "inconclusive"), v.String()}
}

// variantVerdict says what was seen of a variant.
func variantVerdict(a experiments.VariantJudgement) verdict {
	v := verdictOf(a.Verdict)
	seen := fmt.Sprintf("violation in %d of %s", a.Violations, number(a.Trials, "trial"))
	switch {
	case a.Verdict == experiments.AsExpected && a.Expect == experiments.Never:
		return verdict{"no-violation", "no violation in " + number(a.Trials, "trial")}
	case a.Verdict == experiments.AsExpected:
		return verdict{"violation", seen + ", as expected"}
	case a.Verdict == experiments.Unexpected:
		v.Text += ": " + seen
	}
	return v
}

// counts counts the verdicts, the worst first.
func counts(runs []run) (all []count) {
	for _, v := range []experiments.Verdict{experiments.Unexpected, experiments.Inconclusive, experiments.AsExpected} {
		c := count{verdict: verdictOf(v)}
		for _, r := range runs {
			if r.Verdict == c.verdict {
				c.N++
			}
		}
		all = append(all, c)
	}
	return all
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }

// short cuts text to n characters.
func short(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}
