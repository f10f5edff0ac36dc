// Package scorecard tries any program with a lock. The program speaks package protocol. The file rows.go is the table of the
// rows, and names a short function for each attempt. process.go is a copy of the program as the lab sees it. Each row is an experiment, so
// the engine runs, judges and draws it.
//
// What is NOT guaranteed: a row that holds says that this run showed no violation, and no more.
package scorecard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/clients/protocol"
	"locklab/lab/history"
	"locklab/lab/servers"
)

const ownLease = time.Second // that the lab asks for, on a quiet machine

// Program is what is tried.
type Program struct {
	Argv   []string
	Claims protocol.Claims

	fixedClock string // why its clock cannot be changed; empty: it can
	run        *tryRun
}

// tryRun is a run of rows on a program.
type tryRun struct {
	granted atomic.Bool // some copy was granted a lock
	stop    func(why error)
}

// Ask starts the program once and reads what it claims. The error is a [ProgramError] when the program says no hello of the
// protocol.
func Ask(ctx context.Context, argv []string) (p Program, err error) {
	p.Argv = argv
	s, err := servers.New()
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	w, err := s.Program("program", argv...)
	if err != nil {
		return p, startError(argv[0], err)
	}
	p.Claims, err = clients.Hello(ctx, w, func(pid int) { p.fixedClock = clockOf(pid) })
	switch {
	case err == nil, ctx.Err() != nil:
		return p, err
	case errors.Is(err, clients.ErrEnded):
		return p, p.noHello(w, err)
	case errors.Is(err, clients.ErrSilent):
		return p, ProgramError{fmt.Sprintf("it has not said hello within %s; does it flush stdout after each line? "+
			"The first one must be the hello of docs/protocol.md", clients.Starting), lastLines(w)}
	}
	return p, ProgramError{Why: "it must begin with the hello of docs/protocol.md: " + err.Error()}
}

// needs are the programs that the servers need.
func (p Program) needs() []lab.Need {
	if p.Claims.Store == protocol.Database { // SQLite has no connection that could be cut
		return []lab.Need{lab.MariaDB}
	}
	return clients.NeedsOf(p.Claims.Store)
}

// CannotRun says which program is not on this machine to start the servers of the lock, and how to install it.
func (p Program) CannotRun(o lab.Options) error {
	return o.CannotRun(lab.Experiment{ID: p.Claims.Name, Schedule: lab.Schedule{Needs: p.needs()}})
}

// sameAs compares the claims of a copy with those of the first one.
func (p Program) sameAs(other protocol.Claims) error {
	mine := p.Claims
	if mine.PID, other.PID = 0, 0; mine != other {
		return errors.New("two copies of the program claim different things")
	}
	return nil
}

// bench is what a trial of a program acts with: its servers, and the lease.
type bench struct {
	*lab.Trial
	program   Program
	servers   *clients.Servers
	lease     time.Duration
	processes []*clients.Program
	crashed   *atomic.Bool // a copy has ended by itself in an earlier variant of the row, without a fault
}

// scenario makes a scenario of the engine from one of a bench. crashed is that of its row.
func (p Program) scenario(crashed *atomic.Bool, act func(ctx context.Context, b *bench)) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		b := &bench{Trial: t, program: p, lease: p.leaseIn(t), crashed: crashed}
		b.servers = clients.StartLock(ctx, t, p.Claims.Store)
		defer b.findEnded()
		act(ctx, b)
	}
}

// findEnded records as a violation that a copy has ended by itself after a fault: whatever it promised, it keeps no more. A program that
// ends without a fault as well shows nothing.
func (b *bench) findEnded() {
	for _, p := range b.processes {
		at, how := p.EndedItself()
		if how == nil {
			continue
		}
		fault := ""
		for _, e := range b.Events() {
			if e.Kind == history.Fault && e.At <= at {
				fault = e.Text
			}
		}
		if fault == "" || b.crashed.Load() {
			b.crashed.Store(true)
			b.Must(fmt.Errorf("%s: %w, and not because of a fault", p.Name, how))
		}
		b.violates(p.Name, "%s, after a fault (%s)", how, fault)
	}
}

// every does something again and again, beside what the trial does, until stop or the end of the trial.
func (b *bench) every(interval time.Duration, do func()) (stop func()) {
	ends := make(chan struct{})
	wait := b.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ends:
				return
			case <-tick.C:
				do()
			}
		}
	})
	end := sync.OnceFunc(func() { close(ends) })
	b.Cleanup(func() error { end(); return nil })
	return func() { end(); wait() }
}

// part is a part of the lease.
func (b *bench) part(of float64) time.Duration { return time.Duration(of * float64(b.lease)) }

// longLease makes the lease so long that it is not over before the trial. A program with a fixed lease keeps its own.
func (b *bench) longLease() {
	if b.program.Claims.LeaseMS == 0 {
		b.lease *= 10
	}
}

// settling is how long a key may stay locked after its holder's end: a program may round its lease, and poll.
func (b *bench) settling() time.Duration { return 2*b.lease + b.Scaled(2*time.Second) }

// violated is the name of the event that shows a violation that is none of the resource's.
const violated = "violated"

// violates records that the lock violated a promise. Every check finds it.
func (b *bench) violates(timeline, format string, args ...any) {
	b.Record(history.Event{Timeline: timeline, Kind: history.Note, Name: violated, Text: fmt.Sprintf(format, args...)})
}

// check finds lost updates of the resource, and promises that the lab saw violated.
func check(events []history.Event) []history.Violation {
	found := history.Counter(events)
	for _, e := range events {
		if e.Kind == history.Note && e.Name == violated {
			found = append(found, history.Violation{What: e.Timeline + ": " + e.Text, Events: []int{e.Seq}})
		}
	}
	return found
}

// loseKeys removes all keys from the servers. Connections stay open.
func (b *bench) loseKeys(ctx context.Context) {
	proof, err := empty(ctx, b.servers)
	b.Must(err)
	b.Fault("server", "lost its keys", proof)
}

// restart restarts all servers of Redis empty.
func (b *bench) restart(ctx context.Context) {
	for _, n := range b.servers.Nodes {
		clients.Restart(ctx, b.Trial, n)
	}
}
