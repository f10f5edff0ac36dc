package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"locklab/experiments"
	"locklab/history"
	"locklab/stack"
)

// Process is an agent as the lab sees it. Its reports about the lock are recorded with its own time. A failure of a method
// ends the trial.
type Process struct {
	t       *experiments.Trial
	name    string // of its timeline
	running *stack.Dialogue
	reports chan history.Event
	unread  []history.Event // that no Wait wanted so far
}

// backlog is how many reports of an agent may wait to be read.
const backlog = 1024

// Start starts an agent. It ends with the trial.
func Start(t *experiments.Trial, name string) *Process { return StartRole(t, role, name) }

// StartRole starts a process in a role of [stack.Role] that reads commands and sends reports as an agent does, each a line of JSON. A
// report of the kind [Failed] ends the trial that waits.
func StartRole(t *experiments.Trial, role, name string) *Process {
	w, err := t.Stack.Dialogue(role, "agent-"+name)
	t.Must(err)
	p := &Process{t: t, name: name, running: w, reports: make(chan history.Event, backlog)}
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
	return p
}

// Owner is the owner in all events of the agent: it acquires once.
func (p *Process) Owner() string { return p.name + "1" }

// String names the process.
func (p *Process) String() string { return fmt.Sprintf("%s, process %d", p.name, p.running.PID()) }

// receive records the events of the lock's client, and passes on all reports.
func (p *Process) receive() {
	defer close(p.reports)
	for lines := bufio.NewScanner(p.running.Out); lines.Scan(); {
		var e history.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			e = history.Event{Kind: Failed, Text: fmt.Sprintf("it sent %q", lines.Text())}
		}
		switch e.Kind {
		case history.Request, history.Grant, history.Refuse, history.Lose, history.Release, history.Released, history.Command:
			e.Process, e.Timeline, e.Owner = p.String(), p.name, p.Owner()
			p.t.Record(e)
		}
		p.reports <- e
	}
}

// Send sends a command, a [Command] or what the process's role reads, and waits for nothing.
func (p *Process) Send(command any) {
	text, err := json.Marshal(command)
	if err == nil {
		_, err = p.running.In.Write(append(text, '\n'))
	}
	p.t.Must(err)
}

// Do sends a command and waits until it is done.
func (p *Process) Do(ctx context.Context, c Command) history.Event {
	p.Send(c)
	return p.Wait(ctx, history.Kind(c.Do))
}

// Wait waits until the agent reports one of these, or has reported it since it was last waited for.
func (p *Process) Wait(ctx context.Context, wanted ...history.Kind) history.Event {
	for {
		if i := slices.IndexFunc(p.unread, func(e history.Event) bool { return slices.Contains(wanted, e.Kind) }); i >= 0 {
			e := p.unread[i]
			p.unread = slices.Delete(p.unread, i, i+1)
			return e
		}
		select {
		case <-ctx.Done():
			p.t.Must(fmt.Errorf("%s has not reported %v: %w", p, wanted, ctx.Err()))
		case e, open := <-p.reports:
			switch {
			case !open:
				p.t.Must(fmt.Errorf("%s has ended and not reported %v", p, wanted))
			case e.Kind == Failed:
				p.t.Must(fmt.Errorf("%s: %s", p, e.Text))
			}
			p.unread = append(p.unread, e)
		}
	}
}

// Acquire lets the agent take a lock; a refusal ends the trial.
func (p *Process) Acquire(ctx context.Context, l Lock) (token uint64) {
	p.Send(Command{Do: Acquire, Lock: l, Began: p.t.Began()})
	e := p.Wait(ctx, history.Grant, history.Refuse)
	if e.Kind == history.Refuse {
		p.t.Must(fmt.Errorf("%s was refused: %s", p, e.Text))
	}
	return e.Token
}

// Kill ends the process immediately, whatever it holds.
func (p *Process) Kill() {
	p.running.Kill()
	proof, err := p.running.Ended()
	text := fmt.Sprintf("process %d was killed", p.running.PID())
	p.t.Record(history.Event{Timeline: p.name, Kind: history.Die, Owner: p.Owner(), Text: text})
	p.t.Fault(p.name, "killed", proof)
	p.t.Must(err)
}

// Pause stops the process until Resume.
func (p *Process) Pause() {
	p.t.Must(p.running.Pause())
	p.t.Fault(p.name, "paused", fmt.Sprintf("no thread of process %d runs", p.running.PID()))
}

// Resume lets it run again.
func (p *Process) Resume() {
	p.t.Heal(p.name, "resumed")
	p.running.Resume()
}
