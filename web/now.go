package web

import (
	"html/template"
	"slices"
	"sync"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/history"
	"locklab/versions"
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
	steps   []history.Event // the newest of the trial that runs
	dropped int             // steps of it before these
	judged  []judgedSoFar
}

// judgedSoFar are the trials of a variant that are judged.
type judgedSoFar struct {
	Variant            string
	Trials, Violations int
}

// tell takes an event of the run.
func (n *runNow) tell(e experiments.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e := e.(type) {
	case experiments.TrialBegan:
		n.says, n.steps, n.dropped = e.String(), nil, 0
	case experiments.Stepped:
		if n.steps = append(n.steps, e.Step); len(n.steps) == 2*mostSteps {
			n.dropped += mostSteps
			n.steps = slices.Clone(n.steps[mostSteps:])
		}
	case experiments.TrialJudged:
		if e.Late || e.Err != "" && e.Violation == nil { // it shows nothing
			return
		}
		if last := len(n.judged) - 1; last < 0 || n.judged[last].Variant != e.Variant {
			n.judged = append(n.judged, judgedSoFar{Variant: e.Variant})
		}
		so := &n.judged[len(n.judged)-1]
		if so.Trials++; e.Violation != nil {
			so.Violations++
		}
	}
}

// runView is a run as the page shows it while it goes on.
type runView struct {
	Says    string
	Steps   []history.Event
	Dropped int
	Judged  []judgedSoFar
}

func (n *runNow) copy() runView {
	n.mu.Lock()
	defer n.mu.Unlock()
	newest := n.steps[max(0, len(n.steps)-mostSteps):]
	return runView{n.says, slices.Clone(newest), n.dropped + len(n.steps) - len(newest), slices.Clone(n.judged)}
}

// Drawing draws the steps.
func (v runView) Drawing() template.HTML { return drawing(v.Steps) }

// burstNow is what the events of a plan's bursts have told so far.
type burstNow struct {
	plan burst.Plan

	doing
	by   map[string][]burst.Answered // the newest of each instance, by version
	lost map[string]int              // at least
	left map[string]int              // those that were lost in the end
}

// tell takes an event of the bursts.
func (n *burstNow) tell(e burst.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e := e.(type) {
	case burst.WarmingUp:
		n.says = e.String()
	case burst.VersionBegan:
		n.says = e.String()
		delete(n.by, e.Version) // of the round before
		delete(n.lost, e.Version)
		delete(n.left, e.Version)
	case burst.VersionJudged:
		n.left[e.Pageview.Version] = e.Pageview.Lost
	case burst.Answered:
		n.lost[e.Version] = e.Lost
		if e.Instance == "" {
			return
		}
		all := n.by[e.Version]
		if i := slices.IndexFunc(all, func(other burst.Answered) bool { return other.Instance == e.Instance }); i >= 0 {
			all[i] = e
			return
		}
		n.by[e.Version] = append(all, e)
	}
}

// burstView is a plan's bursts as the page shows them while they go on.
type burstView struct {
	Says      string
	Users     int
	Instances []string
	Rows      []burstRow
}

// burstRow is a version.
type burstRow struct {
	versions.Version
	By    []burst.Answered // the newest of each instance, or the zero value
	Lost  int
	Final bool // no more are lost; otherwise at least so many
}

// Began reports whether a view was answered.
func (r burstRow) Began() bool {
	return slices.ContainsFunc(r.By, func(a burst.Answered) bool { return a.Confirmed > 0 })
}

func newBurstNow(plan burst.Plan) *burstNow {
	return &burstNow{plan: plan, by: make(map[string][]burst.Answered), lost: make(map[string]int), left: make(map[string]int)}
}

func (n *burstNow) copy() burstView {
	n.mu.Lock()
	defer n.mu.Unlock()
	v := burstView{Says: n.says, Users: n.plan.Users}
	for _, all := range n.by {
		for _, a := range all {
			if !slices.Contains(v.Instances, a.Instance) {
				v.Instances = append(v.Instances, a.Instance)
			}
		}
	}
	slices.Sort(v.Instances)
	for _, version := range n.plan.Chosen() {
		row := burstRow{Version: version, By: make([]burst.Answered, len(v.Instances)), Lost: n.lost[version.Name]}
		if left, is := n.left[version.Name]; is {
			row.Lost, row.Final = left, true
		}
		for _, a := range n.by[version.Name] {
			row.By[slices.Index(v.Instances, a.Instance)] = a
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}
