package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"locklab/lab"
	"locklab/lab/clients/protocol"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
	"locklab/versions"
)

// Lock says which of the lab's locks to open, and how. Served, it is a program that speaks package protocol.
type Lock struct {
	Strategy string        // as versions.Open takes it; sentinel or cluster: the Redis lock over Redis with failover
	Addrs    []string      // host:port; of a database as database.Open takes it. A program gets them from the lab
	Lease    time.Duration // the same
	Request  time.Duration // longest wait for one answer; 0: the lock's default
	Bounded  bool          // a program renews a grant for no longer than one lease

	patient bool // it is a holder of an experiment: Request is ReplyTimeout, and its lease is as short as it was told
}

// Connect opens what the lock is built on. closeAll closes it; the lock is closed before.
func (l Lock) Connect(ctx context.Context) (b versions.Backends, closeAll func() error, err error) {
	servers, err := ConnectStore(ctx, l.Strategy, l.Addrs)
	if err != nil {
		return b, nil, err
	}
	b.Expiry, b.Request, b.NodeTimeout = l.Lease, l.Request, l.Request
	return b, servers.Close, b.Use(strategyOver(l.Strategy), servers.Backend())
}

// claims are what the lock can do.
func (l Lock) claims(name string) protocol.Claims {
	c := protocol.Claims{Name: name, Store: l.Strategy, Renews: !l.Bounded, Tells: true, Tokens: true, Messages: true}
	switch l.Strategy {
	case versions.NameRedLock:
		c.Tokens, c.Messages = false, false // no node knows the tokens of the others, and a waiter polls when a message may be lost
	case versions.NameDatabase:
		c.Messages = false
	case versions.NameMemcached: // its server counts whole seconds, and keeps a key for up to three more
		c.Tokens, c.Messages = false, false
		if !l.patient {
			c.LeaseMS = (2 * time.Second).Milliseconds()
		}
	}
	return c
}

// Serve serves the lock as a program of that name, until the lab sends stop or in ends. Everything that it has open ends with the process.
func (l Lock) Serve(in io.Reader, out io.Writer, name string) error {
	claims := l.claims(name)
	return protocol.Serve(in, out, claims, func(start protocol.Request) (protocol.Lock, error) {
		l.Addrs, l.Lease = start.Servers, start.Lease()
		if claims.LeaseMS > 0 {
			l.Lease = time.Duration(claims.LeaseMS) * time.Millisecond
		}
		if l.patient {
			l.Request = ReplyTimeout(l.Lease)
		}
		b, _, err := l.Connect(context.Background())
		if err != nil {
			return nil, err
		}
		lock, err := versions.Open(strategyOver(l.Strategy), b)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, r protocol.Request) (protocol.Held, error) { return l.acquire(ctx, lock, r) }, nil
	})
}

func (l Lock) acquire(ctx context.Context, lock lockstrategy.Strategy, r protocol.Request) (protocol.Held, error) {
	options := []lockstrategy.Option{lockstrategy.TryOnce()}
	if r.WaitMS > 0 {
		options[0] = lockstrategy.WaitAtMost(r.Wait())
	}
	if l.Bounded {
		options = append(options, lockstrategy.RenewAtMost(l.Lease))
	}
	lease, err := lock.Acquire(context.WithoutCancel(ctx), r.Key, options...)
	switch {
	case errors.Is(err, lockstrategy.ErrTaken), errors.Is(err, context.DeadlineExceeded):
		return protocol.Held{}, fmt.Errorf("%w: %s", protocol.ErrRefused, Reason(err))
	case err != nil:
		return protocol.Held{}, err
	}
	lost := make(chan string, 1)
	go func() {
		defer close(lost)
		<-lease.Context().Done()
		if why := context.Cause(lease.Context()); errors.Is(why, lockstrategy.ErrLost) {
			lost <- Reason(why)
		}
	}()
	release := func(ctx context.Context) error {
		err := lease.Release(ctx)
		if errors.Is(err, lockstrategy.ErrLost) || errors.Is(err, lockstrategy.ErrNotHeld) {
			err = fmt.Errorf("%w: %w", protocol.ErrNotHeld, err)
		}
		return err
	}
	look := func(context.Context) error { // it renews itself, so there is nothing to extend
		if lease.Context().Err() != nil {
			return protocol.ErrNotHeld
		}
		return nil
	}
	return protocol.Held{Token: lease.FencingToken(), Lost: lost, Release: release, Extend: look}, nil
}

// holder is a lock that a process of this binary serves.
type holder struct {
	strategy string
	bounded  bool // as Lock.Bounded
}

// roles are the roles in which this binary serves the locks of the lab.
var roles = func() map[holder]string {
	all := make(map[holder]string)
	for _, strategy := range servers.KindNames() {
		for _, bounded := range []bool{false, true} {
			h := holder{strategy, bounded}
			all[h] = servers.Role(fmt.Sprintf("holder %v", h), h.serve)
		}
	}
	return all
}()

// LaunchLock starts one of the lab's locks in a process of this binary, and connects it to its servers. It ends with the trial.
func LaunchLock(ctx context.Context, t *lab.Trial, name string, l Lock) *Program {
	role := roles[holder{l.Strategy, l.Bounded}]
	p, _, err := Launch(ctx, t, name, func(process string) (*servers.Dialogue, error) { return t.Stack.Dialogue(role, process) })
	t.Must(err)
	_, err = p.Connect(ctx, l.Addrs, l.Lease)
	t.Must(err)
	return p
}

// ReplyTimeout is how long a client of the lab waits for a reply: for most of a short lease, because a busy server answers late. The
// default of a lock is a third of it.
func ReplyTimeout(lease time.Duration) time.Duration { return 3 * lease / 5 }

func (h holder) serve(in io.Reader, out io.Writer) int {
	l := Lock{Strategy: h.strategy, Bounded: h.bounded, patient: true}
	if l.Serve(in, out, "locklab") != nil {
		return 1
	}
	return 0
}

// Reason is an error of a lock in the words of package history; of another error it is the error's own text.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	for _, known := range []struct {
		err  error
		text string
	}{
		{lockstrategy.ErrTaken, history.Taken},
		{lockstrategy.ErrExpired, history.Expired},
		{lockstrategy.ErrForced, history.Forced},
		{lockstrategy.ErrGone, history.Gone},
		{lockstrategy.ErrUnreachable, history.Unreachable},
		{lockstrategy.ErrUnavailable, history.Unavailable},
		{lockstrategy.ErrNotHeld, "not held"},
		{context.Canceled, history.Canceled},
		{context.DeadlineExceeded, history.Deadline},
	} {
		if errors.Is(err, known.err) {
			return known.text
		}
	}
	return err.Error()
}
