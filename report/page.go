package report

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"time"

	"locklab/experiments"
	"locklab/history"
)

type page struct {
	Title  string
	Whole  bool // of a lab, not of one run
	Runs   []run
	Counts []count
	Errata []run
	Shapes []shape

	Policy string
	Style  template.CSS
	Script template.JS
}

type run struct {
	experiments.Saved
	Open     bool // its details are unfolded
	Verdict  verdict
	Variants []variant
	Measures []measured
	Curve    *curve
}

type variant struct {
	experiments.VariantJudgement
	Verdict  verdict
	Trial    string // which one is drawn, and why
	Picture  *drawing
	Bursts   []burst
	Waits    *waits
	Loads    *loads
	Evidence []history.Event // with the time since the trial began
	Took     time.Duration
}

func newPage(title string, whole bool, saved ...experiments.Saved) page {
	p := page{Title: title, Whole: whole, Shapes: shapes}
	for _, s := range saved {
		r := run{Saved: s, Open: !whole, Verdict: verdictOf(s.Judgement.Verdict), Measures: measures(s.Record), Curve: curveOf(s)}
		for _, j := range s.Judgement.Variants {
			r.Variants = append(r.Variants, newVariant(s.Record, j, len(r.Measures) > 0))
		}
		p.Runs = append(p.Runs, r)
		if len(s.Experiment.Errata) > 0 {
			p.Errata = append(p.Errata, r)
		}
	}
	p.Counts = counts(p.Runs)
	return p
}

func newVariant(r experiments.Record, j experiments.VariantJudgement, measured bool) variant {
	v := variant{VariantJudgement: j, Verdict: variantVerdict(j), Took: r.TookBy(j.Name)}
	trial, why := r.Telling(j)
	events := history.Of(r.Events, j.Name, trial)
	if len(events) == 0 {
		return v
	}
	v.Trial = fmt.Sprintf("Trial %d, %s.", trial, why)
	v.Picture = draw(events, j.Violation, inReport)
	v.Bursts = bursts(events)
	v.Loads = loadsOver(events)
	if measured {
		v.Waits = waiting(events)
	}
	for _, e := range j.Evidence {
		e.At -= events[0].At
		v.Evidence = append(v.Evidence, e)
	}
	return v
}

// verdict is a verdict as a page shows it: by a sign, words and a colour.
type verdict struct {
	Class string // of the sign, and of the style
	Text  string
}

type count struct {
	verdict
	N int
}

func verdictOf(v experiments.Verdict) verdict {
	class := map[experiments.Verdict]string{experiments.AsExpected: "as-expected", experiments.Unexpected: "unexpected"}[v]
	return verdict{cmp.Or(class, "inconclusive"), v.String()}
}

func variantVerdict(a experiments.VariantJudgement) verdict {
	v := verdictOf(a.Verdict)
	switch {
	case a.Verdict == experiments.AsExpected && a.Expect == experiments.Never:
		return verdict{"no-violation", a.Seen()}
	case a.Verdict == experiments.AsExpected:
		return verdict{"violation", a.Seen() + ", as expected"}
	case a.Verdict == experiments.Unexpected:
		v.Text += ": " + a.Seen()
	}
	return v
}

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

func short(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}
