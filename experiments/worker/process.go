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

// Process is a worker as the lab sees it. What it believes is recorded as it is told, at the time that the worker says.
type Process struct {
	t        *experiments.Trial
	lane     string
	worker   *stack.Worker
	name     string // of its clock
	lines    chan Line
	attempts int
}

// backlog is how many lines of a worker may wait to be looked at.
const backlog = 1024

// Start starts a worker, and measures its clock. It ends with the trial.
func Start(ctx context.Context, t *experiments.Trial, lane string) (*Process, error) {
	w, err := t.Stack.Worker(role, "worker-"+lane)
	if err != nil {
		return nil, err
	}
	p := &Process{t: t, lane: lane, worker: w, name: fmt.Sprintf("%s, process %d", lane, w.PID()), lines: make(chan Line, backlog)}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		p.hear()
	}()
	t.Cleanup(func() error {
		err := errors.Join(w.In.Close(), w.Stop())
		<-heard
		return errors.Join(err, w.Out.Close())
	})
	return p, p.compareClocks(ctx)
}

// hear records what the worker believes, and passes on all it says.
func (p *Process) hear() {
	defer close(p.lines)
	for lines := bufio.NewScanner(p.worker.Out); lines.Scan(); {
		var l Line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			l = Line{What: failed, Text: fmt.Sprintf("it says %q", lines.Text())}
		}
		switch kind := history.Kind(l.What); kind {
		case history.Request, history.Grant, history.Refuse, history.Lose, history.Release, history.Released:
			p.t.Record(history.Event{At: l.At, Process: p.name, Timeline: p.lane, Kind: kind, Key: l.Key, Owner: l.Owner, Token: l.Fence, Text: l.Text})
		}
		p.lines <- l
	}
}

// Tell gives an order, and waits for nothing.
func (p *Process) Tell(o Order) error {
	text, err := json.Marshal(o)
	if err == nil {
		_, err = p.worker.In.Write(append(text, '\n'))
	}
	return err
}

// Wait waits until the worker tells one of these.
func (p *Process) Wait(ctx context.Context, wanted ...string) (Line, error) {
	for {
		select {
		case <-ctx.Done():
			return Line{}, fmt.Errorf("%s has not told %v: %w", p.name, wanted, ctx.Err())
		case l, goesOn := <-p.lines:
			switch {
			case !goesOn:
				return Line{}, fmt.Errorf("%s has ended and not told %v", p.name, wanted)
			case l.What == failed:
				return Line{}, fmt.Errorf("%s: %s", p.name, l.Text)
			case slices.Contains(wanted, l.What):
				return l, nil
			}
		}
	}
}

// WaitAll waits until the worker has told each of these, in any order.
func (p *Process) WaitAll(ctx context.Context, wanted ...string) (map[string]Line, error) {
	told := make(map[string]Line)
	for len(wanted) > 0 {
		l, err := p.Wait(ctx, wanted...)
		if err != nil {
			return told, err
		}
		told[l.What] = l
		wanted = slices.DeleteFunc(wanted, func(what string) bool { return what == l.What })
	}
	return told, nil
}

// Ask gives an order and waits for its answer.
func (p *Process) Ask(ctx context.Context, o Order, wanted ...string) (Line, error) {
	if err := p.Tell(o); err != nil {
		return Line{}, err
	}
	return p.Wait(ctx, wanted...)
}

// Open connects the worker to servers, and opens a lock on them.
func (p *Process) Open(ctx context.Context, strategy string, lease time.Duration, addrs ...string) error {
	_, err := p.Ask(ctx, Order{Do: Open, Strategy: strategy, Lease: lease, Addrs: addrs}, string(Open))
	return err
}

// Acquire lets it take the lock; a refusal is an error. atMost bounds its renewal; 0: nothing does.
func (p *Process) Acquire(ctx context.Context, key string, atMost time.Duration) (Line, error) {
	p.attempts++
	o := Order{Do: Acquire, Key: key, Owner: fmt.Sprintf("%s%d", p.lane, p.attempts), AtMost: atMost}
	l, err := p.Ask(ctx, o, string(history.Grant), string(history.Refuse))
	if err == nil && l.What != string(history.Grant) {
		err = fmt.Errorf("%s was refused: %s", p.name, l.Text)
	}
	return l, err
}

// Kill ends it at once, whatever it holds.
func (p *Process) Kill() error {
	p.worker.Kill()
	proof, err := p.worker.Ended()
	p.t.Record(history.Event{
		Timeline: p.lane, Kind: history.Die, Owner: p.owner(),
		Text: fmt.Sprintf("process %d was killed", p.worker.PID()),
	})
	p.t.Fault(p.lane, "killed", proof)
	return err
}

// Pause stops it from running, until Resume.
func (p *Process) Pause() error {
	err := p.worker.Pause()
	if err == nil {
		p.t.Fault(p.lane, "paused", fmt.Sprintf("no thread of process %d runs", p.worker.PID()))
	}
	return err
}

// Resume lets it run again.
func (p *Process) Resume() {
	p.t.Heal(p.lane, "resumed")
	p.worker.Resume()
}

func (p *Process) owner() string { return fmt.Sprintf("%s%d", p.lane, p.attempts) }

// compareClocks sets the worker's clock by the lab's, and measures by how much it is still off.
func (p *Process) compareClocks(ctx context.Context) error {
	ahead, err := p.ahead(ctx)
	if err != nil {
		return err
	}
	if _, err := p.Ask(ctx, Order{Do: Back, By: ahead.Offset}, string(Back)); err != nil {
		return err
	}
	left, err := p.ahead(ctx)
	p.t.Clock(left)
	return err
}

// ahead measures by how much the worker's clock is ahead: several times, of which the shortest round trip says most.
func (p *Process) ahead(ctx context.Context) (experiments.Clock, error) {
	const times = 5
	best := experiments.Clock{Process: p.name, Error: time.Hour}
	for range times {
		asked := p.t.Now()
		l, err := p.Ask(ctx, Order{Do: Time}, string(Time))
		if err != nil {
			return best, err
		}
		if half := (p.t.Now() - asked) / 2; half < best.Error {
			best.Offset, best.Error = l.At-asked-half, half
		}
	}
	return best, nil
}
