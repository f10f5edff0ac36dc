package live

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/report/html"
	"locklab/lab/report/outcome"
	"locklab/versions"
)

// card is a version as the page shows it.
type card struct {
	versions.Version
	Plan   burst.Plan
	Wrote  []html.Written
	Judged *burst.VersionJudged // nil: it is not over
}

// always is later than any answer.
const always = time.Duration(math.MaxInt64)

// card is a version as it was so long after its first answer.
func (n *burstNow) card(v versions.Version, after time.Duration) card {
	n.mu.Lock()
	defer n.mu.Unlock()
	answered, judged := n.courses[v.Name].until(after)
	shown, names := card{Version: v, Plan: n.plan, Judged: judged}, n.instances()
	for _, a := range answered {
		if a.Value > 0 {
			shown.Wrote = append(shown.Wrote, html.Written{Instance: max(0, slices.Index(names, a.Instance)), Value: a.Value})
		}
	}
	return shown
}

// instances are the names of those that have answered, whatever the version. It needs the mutex.
func (n *burstNow) instances() (names []string) {
	for _, c := range n.courses {
		for _, a := range c.answered {
			if a.Instance != "" && !slices.Contains(names, a.Instance) {
				names = append(names, a.Instance)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Value is the final value, or how many views were counted so far.
func (c card) Value() int64 {
	if c.Judged != nil {
		return c.Judged.Pageview.Final
	}
	return int64(len(c.Wrote) - html.Lost(c.Wrote))
}

// Lost is how many views are lost so far, and in the end.
func (c card) Lost() int {
	if c.Judged != nil {
		return c.Judged.Pageview.Lost
	}
	return html.Lost(c.Wrote)
}

// Tone is the class of what became of the page views: a loss is seen while the burst runs, that nothing was lost only at its end.
func (c card) Tone() string {
	switch {
	case c.Lost() > 0:
		return "lost"
	case c.Judged != nil:
		return toneOf(viewsOf(c.Judged.Pageview))
	}
	return ""
}

// Says is what became of the page views, in two words.
func (c card) Says() string {
	switch lost := c.Lost(); {
	case lost > 0:
		return fmt.Sprint("lost ", lost)
	case c.Judged == nil:
		return ""
	case len(c.Judged.Pageview.Failed) > 0:
		return fmt.Sprintf("%d failed", len(c.Judged.Pageview.Failed))
	case c.Tone() == "good":
		return "nothing lost"
	}
	return "counted twice"
}

// OrderTone is the class of what became of the order.
func (c card) OrderTone() string { return toneOf(winnersOf(c.Judged.Order)) }

// Surprise is a verdict that nobody predicted; usually there is none.
func (c card) Surprise() string {
	for _, v := range []lab.Verdict{c.Judged.Pageview.Verdict, c.Judged.Order.Verdict} {
		if v != lab.AsExpected {
			return outcome.Whole(v).Words
		}
	}
	return ""
}

// Climb draws the views that were counted and lost.
func (c card) Climb() template.HTML {
	final := int64(-1)
	if c.Judged != nil {
		final = c.Judged.Pageview.Final
	}
	return markup(func(w io.Writer) error { return html.Climb(w, c.Plan.Users, c.Wrote, final) })
}

// Drivers draws those who were given the order.
func (c card) Drivers() template.HTML {
	return markup(func(w io.Writer) error { return html.Winners(w, c.Judged.Order.Winners) })
}

// AnswerClass is the class of the sentence about a run.
func (e endedBurst) AnswerClass() string {
	class := "answer good"
	for i, p := range e.Pageview {
		switch views, order := toneOf(viewsOf(p)), toneOf(winnersOf(e.Order[i])); {
		case views == "lost" || order == "lost":
			return "answer lost"
		case views != "good" || order != "good":
			class = "answer"
		}
	}
	return class
}

// Says is what became of every version, in a few sentences: the losses first, then what proves nothing, then those that kept all.
func (e endedBurst) Says() string {
	var lost, odd, kept []string
	for i, p := range e.Pageview {
		switch {
		case len(p.Failed) > 0:
			odd = append(odd, fmt.Sprintf("%s proves nothing: %d of %d requests failed.", p.Version, len(p.Failed), e.Users))
		case p.Lost > 0 && lost == nil:
			lost = append(lost, fmt.Sprintf("%s lost %d of %d views", p.Version, p.Lost, e.Users))
		case p.Lost > 0:
			lost = append(lost, fmt.Sprintf("%s lost %d", p.Version, p.Lost))
		case toneOf(viewsOf(p)) == "good" && e.Order[i].Winners == 1:
			kept = append(kept, p.Version)
		default:
			odd = append(odd, fmt.Sprintf("%s: %s, %s.", p.Version, viewsOf(p).Words, winnersOf(e.Order[i]).Words))
		}
	}
	says := odd
	if lost != nil {
		says = append([]string{list(lost) + "."}, odd...)
	}
	if kept != nil {
		says = append(says, list(kept)+" lost nothing, and had one winner.")
	}
	return strings.Join(says, " ")
}

// list joins words for a sentence.
func list(all []string) string {
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " and " + all[last]
	}
	return strings.Join(all, "")
}

// Whole is the verdict of the run.
func (e endedBurst) Whole() string { return outcome.Whole(e.Verdict).Words }

// Versions are those that ran.
func (e endedBurst) Versions() (all []versions.Version) {
	for _, p := range e.Pageview {
		v, _ := versions.Find(p.Version)
		all = append(all, v)
	}
	return all
}

func viewsOf(row burst.PageviewRow) outcome.Outcome {
	return outcome.Views(row.Version, row.Counts, row.Verdict)
}

func winnersOf(row burst.OrderRow) outcome.Outcome { return outcome.Winners(row.Winners, row.Verdict) }

// shown is an outcome as the pages show it.
func shown(o outcome.Outcome) template.HTML {
	return markup(func(w io.Writer) error { return html.Shown(w, o) })
}

// answerOf is the class of a sentence about an outcome.
func answerOf(o outcome.Outcome) string { return strings.TrimSpace("answer " + toneOf(o)) }

// toneOf is the class of an outcome.
func toneOf(o outcome.Outcome) string {
	switch o.Tone {
	case outcome.Good:
		return "good"
	case outcome.Bad, outcome.Alarm:
		return "lost"
	}
	return ""
}
