package live

import (
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/lab/burst"
	"locklab/lab/report/html"
	"locklab/lab/report/outcome"
	"locklab/versions"
)

// card is a version as the page shows it.
type card struct {
	versions.Version
	Plan   burst.Plan
	By     []burst.Answered // the newest of each instance
	Wrote  []html.Written
	Lost   int                  // at least
	Judged *burst.VersionJudged // nil: it is not over
}

// always is later than any answer.
const always = time.Duration(math.MaxInt64)

// card is a version as it was so long after its first answer.
func (n *burstNow) card(v versions.Version, after time.Duration) card {
	n.mu.Lock()
	defer n.mu.Unlock()
	of, shown := n.courses[v.Name], card{Version: v, Plan: n.plan}
	answered := of.answered
	if later := slices.IndexFunc(answered, func(a answeredAt) bool { return a.at > after }); later >= 0 {
		answered = answered[:later]
	} else {
		shown.Judged = of.judged
	}
	names := n.instances()
	shown.By = make([]burst.Answered, len(names))
	for i, name := range names {
		shown.By[i].Instance = name
	}
	for _, a := range answered {
		shown.Lost = a.Lost
		i := slices.Index(names, a.Instance)
		if i < 0 {
			continue
		}
		if shown.By[i] = a.Answered; a.Value > 0 {
			shown.Wrote = append(shown.Wrote, html.Written{Instance: i, Value: a.Value})
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

// Newest is the largest value that was written.
func (c card) Newest() (most int64) {
	for _, a := range c.By {
		most = max(most, a.Newest)
	}
	return most
}

// Climb draws the values that were written.
func (c card) Climb() template.HTML {
	return markup(func(w io.Writer) error { return html.Climb(w, c.Plan.Users, c.Wrote) })
}

// Views is what became of the page views.
func (c card) Views() template.HTML { return shown(viewsOf(c.Judged.Pageview)) }

// Winners is what became of the order.
func (c card) Winners() template.HTML { return shown(winnersOf(c.Judged.Order)) }

func viewsOf(row burst.PageviewRow) outcome.Outcome {
	return outcome.Views(row.Version, row.Counts, row.Verdict)
}

func winnersOf(row burst.OrderRow) outcome.Outcome { return outcome.Winners(row.Winners, row.Verdict) }

// shown is an outcome as the pages show it.
func shown(o outcome.Outcome) template.HTML {
	return markup(func(w io.Writer) error { return html.Shown(w, o) })
}

// answerOf is the class of a sentence about an outcome.
func answerOf(o outcome.Outcome) string {
	switch o.Tone {
	case outcome.Good:
		return "answer good"
	case outcome.Bad, outcome.Alarm:
		return "answer lost"
	}
	return "answer"
}

// Showed is what became of the page views of the version that was guessed.
func (e endedBurst) Showed() outcome.Outcome { return viewsOf(e.About) }

// AnswerClass is the class of the sentence about them.
func (e endedBurst) AnswerClass() string { return answerOf(e.Showed()) }

// Views is what became of the page views of a row.
func (e endedBurst) Views(row int) template.HTML { return shown(viewsOf(e.Pageview[row])) }

// Winners is what became of the order of a row.
func (e endedBurst) Winners(row int) template.HTML { return shown(winnersOf(e.Order[row])) }

// Kept are the other versions that lost no view and had one winner, as a list for a sentence.
func (e endedBurst) Kept() string {
	var all []string
	for i, p := range e.Pageview {
		if p.Version != e.About.Version && p.Lost == 0 && e.Order[i].Winners == 1 {
			all = append(all, p.Version)
		}
	}
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " and " + all[last]
	}
	return strings.Join(all, "")
}
