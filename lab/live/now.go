package live

import (
	"html/template"
	"io"
	"slices"
	"sync"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/history"
	"locklab/lab/live/stage"
	"locklab/lab/report/html"
)

// mostSteps bounds the steps of a trial that are kept for its drawing, which has room for fewer.
const mostSteps = 2000

// doing is what is done now, in words.
type doing struct {
	mu   sync.Mutex // of the whole run
	says string
}

// say takes what is done before the run.
func (d *doing) say(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.says = what
}

// runNow is what the events of a run have told so far.
type runNow struct {
	doing
	began   time.Time
	work    lab.Started
	steps   []history.Event // the newest of the trial that runs
	dropped int             // steps of it before these
	judged  []judgedSoFar
	over    int // trials that are judged, apart from those that are repeated
	trial   int // that runs
	found   foundView

	stage    stage.Options // see [story.Scene]
	variants []lab.Variant // that are listed
}

// judgedSoFar are the trials of a variant that are judged.
type judgedSoFar struct {
	Variant            string
	Trials, Violations int
}

// tell takes an event of the run.
func (n *runNow) tell(e lab.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e := e.(type) {
	case lab.Started:
		n.work, n.began = e, time.Now()
	case lab.TrialBegan:
		n.says, n.steps, n.dropped, n.trial = e.String(), nil, 0, e.Trial
	case lab.Stepped:
		if n.steps = append(n.steps, e.Step); len(n.steps) == 2*mostSteps {
			n.dropped += mostSteps
			n.steps = slices.Clone(n.steps[mostSteps:])
		}
	case lab.TrialJudged:
		if e.Late {
			return
		}
		n.over++
		if e.Err != "" && e.Violation == nil { // it shows nothing
			return
		}
		if last := len(n.judged) - 1; last < 0 || n.judged[last].Variant != e.Variant {
			n.judged = append(n.judged, judgedSoFar{Variant: e.Variant})
		}
		so := &n.judged[len(n.judged)-1]
		if so.Trials++; e.Violation != nil {
			so.Violations++
			n.found = foundView{e.Variant, n.trial, slices.Clone(n.steps), e.Violation}
		}
	}
}

// foundView is a trial with a violation.
type foundView struct {
	Variant   string
	Trial     int // 0: there is none
	steps     []history.Event
	Violation *history.Violation
}

// Drawing draws it.
func (f foundView) Drawing() template.HTML {
	return markup(func(w io.Writer) error { return html.Drawing(w, f.steps, f.Violation) })
}

// runView is a run as the page shows it while it goes on.
type runView struct {
	Found     foundView // the newest trial with a violation
	Says      string
	Steps     []history.Event
	Dropped   int
	Judged    []judgedSoFar
	Over, All int           // trials
	Since     time.Duration // it began; 0: it has not begun
	Takes     time.Duration // about
	stage     stage.Options
	variants  []lab.Variant
}

func (n *runNow) copy() runView {
	n.mu.Lock()
	defer n.mu.Unlock()
	newest := n.steps[max(0, len(n.steps)-mostSteps):]
	v := runView{
		Says: n.says, Steps: slices.Clone(newest), Dropped: n.dropped + len(n.steps) - len(newest), Judged: slices.Clone(n.judged),
		stage: n.stage, variants: n.variants, Found: n.found, Over: min(n.over, n.work.Trials), All: n.work.Trials, Takes: n.work.Takes,
	}
	if !n.began.IsZero() {
		v.Since = time.Since(n.began)
	}
	return v
}

// Drawing draws the steps.
func (v runView) Drawing() template.HTML { return drawing(v.Steps) }

// Scene draws the steps as the story shows them.
func (v runView) Scene() template.HTML {
	v.stage.Grows = true
	return markup(func(w io.Writer) error { return stage.Write(w, v.Steps, nil, v.stage) })
}

// variantNow is what has become of a variant.
type variantNow struct {
	Name, Seen string
	Control    bool
}

// Variants are those of the experiment, the control first.
func (v runView) Variants() (all []variantNow) {
	for i, of := range v.variants {
		now := variantNow{Name: of.Name, Control: i == 0}
		if at := slices.IndexFunc(v.Judged, func(so judgedSoFar) bool { return so.Variant == of.Name }); at >= 0 {
			now.Seen = lab.VariantJudgement{Trials: v.Judged[at].Trials, Violations: v.Judged[at].Violations}.Seen()
		}
		all = append(all, now)
	}
	return all
}

// burstNow is what the events of a plan's bursts have told. It is kept after their end, so that they can be seen again.
type burstNow struct {
	plan burst.Plan

	doing
	number, all int // of the version that runs
	courses     map[string]*course
}

// course is what the events have told of a version.
type course struct {
	first    time.Time // answer
	answered []answeredAt
	judged   *burst.VersionJudged
}

// answeredAt is an answer, and when it came after the first one.
type answeredAt struct {
	burst.Answered
	at time.Duration
}

func newBurstNow(plan burst.Plan) *burstNow {
	n := &burstNow{plan: plan, courses: make(map[string]*course)}
	for _, name := range plan.Versions {
		n.courses[name] = new(course)
	}
	return n
}

// tell takes an event of the bursts.
func (n *burstNow) tell(e burst.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e := e.(type) {
	case burst.WarmingUp:
		n.says = e.String()
	case burst.VersionBegan:
		n.says, n.number, n.all = e.String(), e.Number, e.All
		n.courses[e.Version] = new(course)
	case burst.Answered:
		c := n.courses[e.Version]
		if len(c.answered) == 0 {
			c.first = time.Now()
		}
		c.answered = append(c.answered, answeredAt{e, time.Since(c.first)})
	case burst.VersionJudged:
		n.courses[e.Pageview.Version].judged = &e
	}
}

// doneView is what is done now.
type doneView struct {
	Says        string
	Number, All int
}

func (n *burstNow) copy() doneView {
	n.mu.Lock()
	defer n.mu.Unlock()
	return doneView{n.says, n.number, n.all}
}

// changes counts what was told of a version.
func (n *burstNow) changes(version string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.courses[version]
	if c.judged != nil {
		return len(c.answered) + 1
	}
	return len(c.answered)
}

// answers counts the answers until a time after the first one.
func (n *burstNow) answers(version string, until time.Duration) (all int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range n.courses[version].answered {
		if a.at <= until {
			all++
		}
	}
	return all
}

// longest is the time from the first answer of a version until its last.
func (n *burstNow) longest() (most time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.courses {
		if len(c.answered) > 0 {
			most = max(most, c.answered[len(c.answered)-1].at)
		}
	}
	return most
}
