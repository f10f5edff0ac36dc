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
)

// mostSteps bounds the steps of a trial that are kept for its drawing, which has room for fewer.
const mostSteps = 2000

// runNow is what the events of a run have told so far.
type runNow struct {
	mu sync.Mutex
	runView
}

// runView is a run as the page shows it while it goes on.
type runView struct {
	Says      string
	Steps     []history.Event        // the newest of the trial that runs
	Dropped   int                    // steps of it before these
	Variants  []lab.VariantJudgement // the control first, each with its trials that are judged
	Over, All int                    // trials; one that is repeated is not over
	Takes     time.Duration          // about
	Found     *foundTrial            // the newest; nil: there is none
	began     time.Time
	trial     int           // that runs
	stage     stage.Options // see [story.Scene]
}

// foundTrial is a trial with a violation.
type foundTrial struct {
	Variant   string
	Trial     int
	steps     []history.Event
	Violation *history.Violation
}

func newRunNow(e lab.Experiment, o stage.Options) *runNow {
	o.Grows = true
	n := &runNow{runView: runView{stage: o}}
	for i, v := range e.Variants {
		n.Variants = append(n.Variants, lab.VariantJudgement{Name: v.Name, Control: i == 0})
	}
	return n
}

// apply takes an event of the run.
func (n *runNow) apply(e lab.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e := e.(type) {
	case lab.Started:
		n.All, n.Takes, n.began = e.Trials, e.Takes, time.Now()
	case lab.TrialBegan:
		n.Says, n.Steps, n.Dropped, n.trial = e.String(), nil, 0, e.Trial
	case lab.Stepped:
		if n.Steps = append(n.Steps, e.Step); len(n.Steps) == 2*mostSteps {
			n.Dropped += mostSteps
			n.Steps = slices.Clone(n.Steps[mostSteps:]) // views keep the old ones
		}
	case lab.TrialJudged:
		if !e.Late {
			n.judge(e)
		}
	}
}

// judge needs the mutex.
func (n *runNow) judge(e lab.TrialJudged) {
	n.Over = min(n.Over+1, n.All)
	if e.Violation != nil {
		n.Found = &foundTrial{e.Variant, n.trial, n.Steps, e.Violation}
	}
	for i := range n.Variants {
		if v := &n.Variants[i]; v.Name == e.Variant && (e.Err == "" || e.Violation != nil) { // otherwise it shows nothing
			v.Trials++
			if e.Violation != nil {
				v.Violations++
			}
		}
	}
}

// view is the run as it is now.
func (n *runNow) view() runView {
	n.mu.Lock()
	defer n.mu.Unlock()
	v := n.runView
	v.Variants = slices.Clone(v.Variants)
	if older := len(v.Steps) - mostSteps; older > 0 {
		v.Steps, v.Dropped = v.Steps[older:], v.Dropped+older
	}
	return v
}

// Since is how long ago the run began.
func (v runView) Since() time.Duration { return time.Since(v.began) }

// Drawing draws the steps.
func (v runView) Drawing() template.HTML { return drawing(v.Steps, nil) }

// Drawing draws the steps of the trial, and its violation.
func (f foundTrial) Drawing() template.HTML { return drawing(f.steps, f.Violation) }

// Scene draws the steps as the story shows them.
func (v runView) Scene() template.HTML {
	return markup(func(w io.Writer) error { return stage.Write(w, v.Steps, nil, v.stage) })
}

// burstNow is what the events of a plan's bursts have told. It is kept after their end, so that they can be seen again.
type burstNow struct {
	plan burst.Plan

	mu sync.Mutex
	burstProgress
	courses map[string]*course
}

// burstProgress is how far the bursts of a plan are.
type burstProgress struct {
	Says        string
	Number, All int // of the version that runs
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

// until returns what was told within a time after the first answer. The judgement comes with the last answer.
func (c *course) until(after time.Duration) ([]answeredAt, *burst.VersionJudged) {
	if later := slices.IndexFunc(c.answered, func(a answeredAt) bool { return a.at > after }); later >= 0 {
		return c.answered[:later], nil
	}
	return c.answered, c.judged
}

func newBurstNow(plan burst.Plan) *burstNow {
	n := &burstNow{plan: plan, courses: make(map[string]*course)}
	for _, name := range plan.Versions {
		n.courses[name] = new(course)
	}
	return n
}

// say notes what is done before the first burst.
func (n *burstNow) say(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.Says = what
}

// apply takes an event of the bursts.
func (n *burstNow) apply(e burst.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e := e.(type) {
	case burst.WarmingUp:
		n.Says = e.String()
	case burst.VersionBegan:
		n.burstProgress = burstProgress{e.String(), e.Number, e.All}
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

// progress is how far the bursts are now.
func (n *burstNow) progress() burstProgress {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.burstProgress
}

// changes counts what was told of a version within a time after its first answer.
func (n *burstNow) changes(version string, after time.Duration) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	answered, judged := n.courses[version].until(after)
	if judged != nil {
		return len(answered) + 1
	}
	return len(answered)
}

// longest is the time from the first answer of a version until its last.
func (n *burstNow) longest() (most time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.courses {
		if last := len(c.answered) - 1; last >= 0 {
			most = max(most, c.answered[last].at)
		}
	}
	return most
}
