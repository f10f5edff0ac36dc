package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/lab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/bubble"
	"locklab/versions"
)

// modelOpen opens the lock that is to be checked.
type modelOpen func(versions.Backends) (*versions.Opened, error)

const (
	quiet   = 5 * time.Second  // after the last caller every compensating release is over within this time
	endless = 20 * time.Minute // longer than any program takes: a caller that waits so long waits for ever
)

// world is where a program runs.
type world struct {
	program  program
	recorder *recorder
	server   *miniredis.Miniredis // nil: there is none
	admin    *process             // its network is always well
	all      []*process
}

// recorder numbers the owners in its events.
type recorder struct {
	*history.Recorder
	owners atomic.Int64
}

// newOwner returns an owner that no other event has.
func (r *recorder) newOwner() string { return fmt.Sprintf("#%d", r.owners.Add(1)) }

// process is one application with a lock.
type process struct {
	name    string
	network *network
	client  *redis.Client
	lock    *versions.Opened
}

// runModel runs a program with a lock, and returns what happened. server says whether the lock needs one.
//
// Two runs of one program nearly always give the same history, but for the order of what happens at one instant.
// In the other cases the scheduler had a say, such as which of two
// callers comes first to a mutex. A failure of that kind comes back after some runs of its seed.
func runModel(t *testing.T, p program, open modelOpen, server bool) (events []history.Event) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{program: p, recorder: &recorder{Recorder: history.NewRecorder()}}
		if server {
			w.server = miniredis.NewMiniRedis()
			w.server.ClockTTL(true)
			defer w.server.Close()
		}
		for n := range len(p.Processes) + 1 {
			made, err := w.start(n, open)
			if err != nil {
				t.Fatal(err)
			}
			w.all = append(w.all, made)
		}
		w.admin = w.all[len(p.Processes)]
		w.play()
		for _, made := range w.all {
			if err := made.lock.Close(); err != nil {
				t.Error(err)
			}
			_ = made.client.Close()
			made.network.Close()
		}
		events = w.recorder.Events()
	})
	return events
}

func (w *world) start(number int, open modelOpen) (*process, error) {
	dial := func() (net.Conn, error) { return nil, errors.New("there is no server") }
	if w.server != nil {
		dial = w.server.Dial
	}
	p := &process{name: fmt.Sprintf("process %d", number), network: newNetwork(dial, w.program.Seed, number)}
	p.client = bubble.Dial(p.network.DialContext)
	var err error
	p.lock, err = open(versions.Backends{Redis: p.client, Expiry: w.program.Lease, HandOff: w.program.HandOff})
	return p, err
}

// play runs all callers and all faults, waits until every compensating release is over, and records the locks that are left.
func (w *world) play() {
	ctx, cancel := context.WithTimeout(context.Background(), endless)
	defer cancel()
	var callers, faults sync.WaitGroup
	for n, scripts := range w.program.Processes {
		for c, s := range scripts {
			callers.Go(func() { w.follow(ctx, caller{w.recorder, w.all[n], c}, s) })
		}
	}
	for _, f := range w.program.Plan {
		faults.Go(func() { w.harm(ctx, f) })
	}
	callers.Wait()
	faults.Wait()
	for _, p := range w.all {
		p.network.mend(false)
	}
	time.Sleep(quiet)
	for _, p := range w.all {
		p.network.mend(true)
	}
	w.look()
}

func (w *world) follow(ctx context.Context, c caller, s script) {
	for _, t := range s {
		time.Sleep(t.pause)
		if err := c.take(ctx, t); errors.Is(err, lockstrategy.ErrUnavailable) {
			time.Sleep(w.program.Lease / 4) // otherwise a program is soon over without a server
		}
	}
}

// caller is one goroutine of a process.
type caller struct {
	recorder *recorder
	process  *process
	number   int
}

// attempt is one try of a caller to get a key.
type attempt struct {
	caller
	key, owner string
}

func (a attempt) record(kind history.Kind, token uint64, text string) {
	a.add(history.Event{Kind: kind, Token: token, Text: text})
}

func (a attempt) add(e history.Event) {
	e.Process, e.Timeline, e.Key, e.Owner = a.process.name, fmt.Sprintf("%s caller %d", a.process.name, a.number), a.key, a.owner
	a.recorder.Add(e)
}

// take tries once to get a key, and releases it. It returns why the key was refused.
func (c caller) take(ctx context.Context, t turn) error {
	waiting := ctx
	if t.cancel > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithCancel(ctx)
		defer time.AfterFunc(t.cancel, cancel).Stop()
		defer cancel()
	}
	a := attempt{c, t.key, c.recorder.newOwner()}
	a.add(history.Event{Kind: history.Request, Name: t.name, Text: t.note})
	lease, err := c.process.lock.Acquire(waiting, t.key, t.options...)
	if err != nil {
		a.record(history.Refuse, 0, reason(err))
		return err
	}
	a.record(history.Grant, lease.FencingToken(), "")
	context.AfterFunc(lease.Context(), func() {
		if cause := context.Cause(lease.Context()); errors.Is(cause, lockstrategy.ErrLost) {
			a.record(history.Lose, 0, reason(cause))
		}
	})
	a.work(lease, t)
	a.record(history.Release, 0, "")
	a.record(history.Released, 0, reason(lease.Release(ctx)))
	return nil
}

// work holds the key for a while.
func (a attempt) work(lease *lockstrategy.Lease, t turn) {
	if t.again {
		if inner, err := a.process.lock.Acquire(lease.Context(), t.key); err == nil {
			a.record(history.Reenter, inner.FencingToken(), "")
			defer func() { _ = inner.Release(context.Background()) }()
		}
	}
	stop := lease.Context().Done()
	if !t.quits {
		stop = nil
	}
	timer := time.NewTimer(t.hold)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop:
		time.Sleep(time.Nanosecond) // so that the loss is recorded first, not one time so and one time so
	}
}

// reason is err in the words of package history.
func reason(err error) string {
	for _, known := range []struct {
		err  error
		note string
	}{
		{lockstrategy.ErrUnreachable, history.Unreachable},
		{lockstrategy.ErrForced, history.Forced},
		{lockstrategy.ErrGone, history.Gone},
		{lockstrategy.ErrExpired, history.Expired},
		{lockstrategy.ErrTaken, history.Taken},
		{lockstrategy.ErrUnavailable, history.Unavailable},
		{context.DeadlineExceeded, history.Deadline},
		{context.Canceled, history.Canceled},
	} {
		if errors.Is(err, known.err) {
			return known.note
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
