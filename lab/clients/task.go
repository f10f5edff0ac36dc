package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/servers"
)

// Process is this binary in a role of [servers.Role], such as a worker of the shop: it reads commands, and stops between two of its steps.
// A failure of a method ends the trial.
type Process struct {
	t       *lab.Trial
	name    string // of its timeline
	running *servers.Dialogue
	reports chan history.Event
	unread  []history.Event // that no Wait wanted so far
}

// backlog is how many reports of a process may wait to be read.
const backlog = 1024

// Reports of a process, beside the name of a command that is done and the commands that it sent.
const (
	Failed  history.Kind = "failed"  // a command could not be carried out
	Stopped history.Kind = "stopped" // the process waits at the step where it was told to stop
)

// StartRole starts a process in a role. Commands and reports are lines of JSON. A report of the kind [Failed] ends the trial that waits.
func StartRole(t *lab.Trial, role, name string) *Process {
	w, err := t.Stack.Dialogue(role, "process-"+name)
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

// String names the process.
func (p *Process) String() string { return fmt.Sprintf("%s, process %d", p.name, p.running.PID()) }

// receive records the commands of the process, and passes on all reports.
func (p *Process) receive() {
	defer close(p.reports)
	for lines := bufio.NewScanner(p.running.Out); lines.Scan(); {
		var e history.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			e = history.Event{Kind: Failed, Text: fmt.Sprintf("it sent %q", lines.Text())}
		}
		if e.Kind == history.Command {
			e.Process, e.Timeline = p.String(), p.name
			p.t.Record(e)
		}
		p.reports <- e
	}
}

// Send sends a command, which is what the process's role reads, and waits for nothing.
func (p *Process) Send(command any) {
	text, err := json.Marshal(command)
	if err == nil {
		_, err = p.running.In.Write(append(text, '\n'))
	}
	p.t.Must(err)
}

// Wait waits until the process reports one of these, or has reported it since it was last waited for.
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

// Kill ends the process immediately.
func (p *Process) Kill() { kill(p.t, history.Event{Timeline: p.name}, p.running) }
