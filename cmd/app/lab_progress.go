package main

import (
	"io"
	"sync"

	"locklab/experiments"
	"locklab/internal/progress"
	"locklab/report/terminal"
)

// labProgress tells what several experiments do, a few of them at a time. The time left is estimated from the trials that are over. A trial
// weighs as much as it usually takes; of experiments that run beside others, several pass in that time.
type labProgress struct {
	*progress.Line
	mu        sync.Mutex
	over, all int // experiments
	work      map[string]*work
}

// work is that of one experiment.
type work struct {
	weight        float64
	trials, begun int
	judged        bool
}

func newLabProgress(to io.Writer, chosen []experiments.Experiment, parallel int, o experiments.Options) *labProgress {
	p := &labProgress{Line: progress.New(to), all: len(chosen), work: make(map[string]*work)}
	beside := 0
	for _, e := range chosen {
		if !e.Alone {
			beside++
		}
	}
	for _, e := range chosen {
		trials, takes := o.Work(e)
		w := &work{weight: takes.Seconds(), trials: trials}
		if !e.Alone {
			w.weight /= float64(min(parallel, beside))
		}
		p.work[e.ID] = w
	}
	return p
}

// trial shows what begins.
func (p *labProgress) trial(e experiments.Experiment, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.work[e.ID]
	w.begun = min(w.begun+1, w.trials) // a trial may be repeated
	p.Weighted(p.over+1, p.all, p.done(), what)
}

// done is the part of the whole work that is over.
func (p *labProgress) done() float64 {
	var done, all float64
	for _, w := range p.work {
		all += w.weight
		switch {
		case w.judged:
			done += w.weight
		case w.begun > 0:
			done += w.weight * float64(w.begun-1) / float64(w.trials)
		}
	}
	return done / all
}

// judged leaves a line about an experiment that is over.
func (p *labProgress) judged(id string, verdict terminal.Trusted, seconds float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over++
	p.work[id].judged = true
	p.Print("%d/%d %s: %s (%.1f s)", p.over, p.all, id, verdict, seconds)
}
