package report

import (
	"fmt"
	"strings"
	"time"

	"locklab/experiments"
)

// verdict is a verdict as a page shows it: never by colour alone.
type verdict struct {
	Class string // of its sign, and of the style
	Text  string
}

// count is how many experiments have a verdict.
type count struct {
	verdict
	N int
}

func verdictOf(v experiments.Verdict) verdict {
	switch v {
	case experiments.AsExpected:
		return verdict{"supported", v.String()}
	case experiments.Unexpected:
		return verdict{"refuted", v.String()}
	default:
		return verdict{"inconclusive", experiments.Inconclusive.String()}
	}
}

// armVerdict says what was seen of an arm, which of a supported one is either of two things.
func armVerdict(a experiments.VariantJudgement) verdict {
	v := verdictOf(a.Verdict)
	switch {
	case a.Verdict == experiments.AsExpected && a.Expect == experiments.Never:
		v.Class, v.Text = "held", "not broken in "+number(a.Trials, "trial")
	case a.Verdict == experiments.AsExpected:
		v.Class, v.Text = "broken", "broken, as claimed (witness)"
	case a.Verdict == experiments.Unexpected:
		v.Text = fmt.Sprintf("refuted: broken in %d of %s", a.Violations, number(a.Trials, "trial"))
	}
	return v
}

func expects(a experiments.VariantJudgement) string {
	if a.Expect == experiments.Never {
		return "Must never break"
	}
	return "Is expected to break"
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

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// short cuts text to n characters.
func short(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}
