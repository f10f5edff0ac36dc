package terminal

import (
	"io"
	"sync"

	"locklab/internal/progress"
	"locklab/lab"
)

// Progress shows how far several experiments are, from the events of their runs. The time left is estimated from the trials that are over.
// A trial weighs as much as it usually takes; of experiments that run beside others, several pass in that time.
type Progress struct {
	// State is what an experiment that is over came to: its verdict, unless a caller changes it.
	State func(lab.Result) Trusted

	line      *progress.Line
	mu        sync.Mutex
	over, all int              // experiments
	work      map[string]*work // by experiment
}

// work is that of one experiment.
type work struct {
	weight        float64
	trials, begun int
	over          bool
}

// NewProgress shows the progress of runs with these options, so many at a time. Its Tell is for [lab.Options].
func NewProgress(to io.Writer, colour bool, chosen []lab.Experiment, parallel int, o lab.Options) *Progress {
	p := &Progress{line: progress.New(to), all: len(chosen), work: make(map[string]*work)}
	p.State = func(r lab.Result) Trusted { return Verdict(r.Judgement.Verdict, colour) }
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

// Tell shows a trial that begins, and leaves a line about an experiment that is over. A step of a client waits for nothing here: a terminal
// may be slow.
func (p *Progress) Tell(e lab.Event) {
	switch e := e.(type) {
	case lab.TrialBegan:
		p.begins(e)
	case lab.Finished:
		p.ends(e)
	}
}

func (p *Progress) begins(e lab.TrialBegan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.work[e.Experiment]
	w.begun = min(w.begun+1, w.trials) // a trial may be repeated
	if p.all > many && !p.line.Terminal {
		return // a line for each experiment that is over is enough in a file
	}
	p.line.Weighted(p.over+1, p.all, p.done(), e.Experiment+": "+e.String())
}

func (p *Progress) ends(e lab.Finished) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over++
	p.work[e.Experiment].over = true
	p.line.Print("%d/%d %s: %s (%.1f s)", p.over, p.all, e.Experiment, p.State(e.Result), e.Result.Record.Took.Seconds())
}

// Done removes the line that changes.
func (p *Progress) Done() { p.line.Done() }

// done is the part of the whole work that is over.
func (p *Progress) done() float64 {
	var done, all float64
	for _, w := range p.work {
		all += w.weight
		switch {
		case w.over:
			done += w.weight
		case w.begun > 0:
			done += w.weight * float64(w.begun-1) / float64(w.trials)
		}
	}
	return done / all
}
