package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/servers"
)

// Task is work that this binary does in a process of its own, which stops at one of its steps. There it is killed, or continues.
type Task[T any] string

// AtStep is called by a task at each step. text is what a timeline shows of the step; empty: nothing.
type AtStep func(step, text string)

// NewTask names work on a T, which JSON can encode. Call it to initialise a package variable, as [servers.Role].
func NewTask[T any](name string, do func(ctx context.Context, of T, at AtStep) error) Task[T] {
	return Task[T](servers.Role(name, func(in io.Reader, out io.Writer) int {
		lines, reports := bufio.NewScanner(in), json.NewEncoder(out)
		report := func(kind history.Kind, text string) {
			_ = reports.Encode(history.Event{Kind: kind, Text: text}) // without the lab this process ends
		}
		var a assignment[T]
		lines.Scan()
		err := json.Unmarshal(lines.Bytes(), &a)
		if err == nil {
			err = do(context.Background(), a.Of, func(step, text string) {
				if text != "" {
					report(history.Command, text)
				}
				if strings.HasPrefix(step, a.Stop) {
					report(stopped, step)
					if !lines.Scan() { // the trial is over, and must not go on
						select {}
					}
				}
			})
		}
		report(finished, Reason(err))
		for lines.Scan() {
			continue
		}
		return 0
	}))
}

// assignment is what a process is sent first.
type assignment[T any] struct {
	Of   T
	Stop string // the beginning of the step at which it stops, until it gets a line
}

// Reports of a process, beside the commands that it sent.
const (
	stopped  history.Kind = "stopped"  // at a step, which is the text
	finished history.Kind = "finished" // its work; the text is its error
)

// Process does a [Task]. A failure of a method ends the trial.
type Process struct {
	Step string // at which it stopped

	t       *lab.Trial
	name    string // of its timeline
	running *servers.Dialogue
	reports *bufio.Scanner
}

// Start starts a process with a task, and waits until it has stopped at the step that begins with stop.
func (work Task[T]) Start(ctx context.Context, t *lab.Trial, name string, of T, stop string) *Process {
	d, err := t.Stack.Dialogue(string(work), "process-"+name)
	t.Must(err)
	t.Cleanup(func() error { return errors.Join(d.In.Close(), d.Stop(), d.Out.Close()) })
	p := &Process{t: t, name: name, running: d, reports: bufio.NewScanner(d.Out)}
	t.Must(json.NewEncoder(d.In).Encode(assignment[T]{of, stop}))
	p.Step = p.await(ctx, stopped)
	return p
}

// String names the process.
func (p *Process) String() string { return fmt.Sprintf("%s, process %d", p.name, p.running.PID()) }

// await records the commands of the process until it reports something else, which must be what is wanted.
func (p *Process) await(ctx context.Context, wanted history.Kind) (text string) {
	defer context.AfterFunc(ctx, p.running.Kill)()
	for p.reports.Scan() {
		var e history.Event
		p.t.Must(json.Unmarshal(p.reports.Bytes(), &e))
		switch e.Kind {
		case wanted:
			return e.Text
		case history.Command:
			e.Process, e.Timeline = p.String(), p.name
			p.t.Record(e)
		default:
			p.t.Must(fmt.Errorf("%s has %s and not %s: %s", p, e.Kind, wanted, e.Text))
		}
	}
	p.t.Must(errors.Join(fmt.Errorf("%s has ended and not %s", p, wanted), context.Cause(ctx)))
	return ""
}

// Finish lets the process continue, and waits until its work is done.
func (p *Process) Finish(ctx context.Context) {
	_, err := p.running.In.WriteString("\n")
	p.t.Must(err)
	if failed := p.await(ctx, finished); failed != "" {
		p.t.Must(fmt.Errorf("%s: %s", p, failed))
	}
}

// Kill ends the process immediately.
func (p *Process) Kill() { KillProcess(p.t, history.Event{Timeline: p.name}, p.running) }
