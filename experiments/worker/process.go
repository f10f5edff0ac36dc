package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/history"
	"locklab/stack"
)

// Process is a worker as the lab sees it. Its reports about the lock are recorded with the worker's own time. A failure of a
// method ends the trial.
type Process struct {
	t        *experiments.Trial
	timeline string
	worker   *stack.Worker
	name     string // of its clock
	reports  chan Report
	attempts int
}

// backlog is how many reports of a worker may wait to be read.
const backlog = 1024

// Start starts a worker, and measures its clock. It ends with the trial.
func Start(ctx context.Context, t *experiments.Trial, timeline string) *Process {
	w, err := t.Stack.Worker(role, "worker-"+timeline)
	t.Must(err)
	name := fmt.Sprintf("%s, process %d", timeline, w.PID())
	p := &Process{t: t, timeline: timeline, worker: w, name: name, reports: make(chan Report, backlog)}
	received := make(chan struct{})
	go func() {
		defer close(received)
		p.receive()
	}()
	t.Cleanup(func() error {
		err := errors.Join(w.In.Close(), w.Stop())
		<-received
		return errors.Join(err, w.Out.Close())
	})
	p.compareClocks(ctx)
	return p
}

// receive records what the worker believes, and passes on all reports.
func (p *Process) receive() {
	defer close(p.reports)
	for lines := bufio.NewScanner(p.worker.Out); lines.Scan(); {
		var r Report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			r = Report{What: failed, Text: fmt.Sprintf("it sent %q", lines.Text())}
		}
		switch kind := history.Kind(r.What); kind {
		case history.Request, history.Grant, history.Refuse, history.Lose, history.Release, history.Released:
			p.t.Record(history.Event{
				At: r.At, Process: p.name, Timeline: p.timeline, Kind: kind, Key: r.Key, Owner: r.Owner, Token: r.Token, Text: r.Text,
			})
		}
		p.reports <- r
	}
}

// Send sends a command, and waits for nothing.
func (p *Process) Send(c Command) {
	text, err := json.Marshal(c)
	if err == nil {
		_, err = p.worker.In.Write(append(text, '\n'))
	}
	p.t.Must(err)
}

// Wait waits until the worker reports one of these.
func (p *Process) Wait(ctx context.Context, wanted ...string) Report {
	for {
		select {
		case <-ctx.Done():
			p.t.Must(fmt.Errorf("%s has not reported %v: %w", p.name, wanted, ctx.Err()))
		case r, open := <-p.reports:
			switch {
			case !open:
				p.t.Must(fmt.Errorf("%s has ended and not reported %v", p.name, wanted))
			case r.What == failed:
				p.t.Must(fmt.Errorf("%s: %s", p.name, r.Text))
			case slices.Contains(wanted, r.What):
				return r
			}
		}
	}
}

// WaitAll waits until the worker has reported each of these, in any order.
func (p *Process) WaitAll(ctx context.Context, wanted ...string) map[string]Report {
	reported := make(map[string]Report)
	for len(wanted) > 0 {
		r := p.Wait(ctx, wanted...)
		reported[r.What] = r
		wanted = slices.DeleteFunc(wanted, func(what string) bool { return what == r.What })
	}
	return reported
}

// Do sends a command and waits for its report.
func (p *Process) Do(ctx context.Context, c Command, wanted ...string) Report {
	p.Send(c)
	return p.Wait(ctx, wanted...)
}

// Open connects the worker to servers, and opens a lock on them.
func (p *Process) Open(ctx context.Context, strategy string, lease time.Duration, addrs ...string) {
	p.Do(ctx, Command{Do: Open, Strategy: strategy, Lease: lease, Addrs: addrs}, string(Open))
}

// Acquire lets the worker take the lock; a refusal ends the trial. atMost bounds its renewal; 0: nothing does.
func (p *Process) Acquire(ctx context.Context, key string, atMost time.Duration) Report {
	p.attempts++
	r := p.Do(ctx, Command{Do: Acquire, Key: key, Owner: p.owner(), AtMost: atMost}, string(history.Grant), string(history.Refuse))
	if r.What != string(history.Grant) {
		p.t.Must(fmt.Errorf("%s was refused: %s", p.name, r.Text))
	}
	return r
}

// Kill ends the process immediately, whatever it holds.
func (p *Process) Kill() {
	p.worker.Kill()
	proof, err := p.worker.Ended()
	p.t.Record(history.Event{
		Timeline: p.timeline, Kind: history.Die, Owner: p.owner(),
		Text: fmt.Sprintf("process %d was killed", p.worker.PID()),
	})
	p.t.Fault(p.timeline, "killed", proof)
	p.t.Must(err)
}

// Pause stops the process until Resume.
func (p *Process) Pause() {
	p.t.Must(p.worker.Pause())
	p.t.Fault(p.timeline, "paused", fmt.Sprintf("no thread of process %d runs", p.worker.PID()))
}

// Resume lets it run again.
func (p *Process) Resume() {
	p.t.Heal(p.timeline, "resumed")
	p.worker.Resume()
}

func (p *Process) owner() string { return fmt.Sprintf("%s%d", p.timeline, p.attempts) }

// compareClocks sets the worker's clock by the lab's, and measures the offset that is left.
func (p *Process) compareClocks(ctx context.Context) {
	p.Do(ctx, Command{Do: SetBack, By: p.ahead(ctx).Offset}, string(SetBack))
	p.t.Clock(p.ahead(ctx))
}

// ahead measures by how much the worker's clock is ahead: several times, of which the shortest round trip is the most exact.
func (p *Process) ahead(ctx context.Context) experiments.Clock {
	const times = 5
	best := experiments.Clock{Process: p.name, Error: time.Hour}
	for range times {
		sent := p.t.Now()
		r := p.Do(ctx, Command{Do: Time}, string(Time))
		if half := (p.t.Now() - sent) / 2; half < best.Error {
			best.Offset, best.Error = r.At-sent-half, half
		}
	}
	return best
}
