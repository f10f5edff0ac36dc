package clients

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
	"locklab/lockstrategy/redislock"
	"locklab/versions"
)

// LockKey is the key that every client locks, unless its field Key says something else.
const LockKey = "lock:counter"

// NodeKey is the key of RedLock on each node.
const NodeKey = "redlock:" + LockKey

// LongLease is for leases that must not end while a trial runs, on a busy machine either.
const LongLease = time.Minute

// The rows of the matrix for work that takes longer than the lease. The holder names a lease, which is not renewed, or names none.
const (
	FixedLease   = "long work (fixed lease)"
	RenewedLease = "long work (renewed lease)"
)

// Client is a client of a lock in a goroutine of the lab. Its beliefs are recorded.
type Client struct {
	Name  string // its timeline
	Lock  lockstrategy.Strategy
	Admin *redislock.Lock // nil: the lock has none
	Key   string

	t        *lab.Trial
	attempts int
}

// NewClient returns a client of a lock.
func NewClient(t *lab.Trial, name string, lock lockstrategy.Strategy) *Client {
	return &Client{Name: name, Lock: lock, Key: LockKey, t: t}
}

// Open opens a lock of the lab for a client of its own process: two clients are two processes to each other.
func Open(t *lab.Trial, name, strategy string, b versions.Backends) *Client {
	o, err := versions.Open(strategy, b)
	t.Must(err)
	t.Cleanup(o.Close)
	c := NewClient(t, name, o.Strategy)
	c.Admin = o.Admin
	return c
}

// LocalHolder is a goroutine of the lab that holds a lock.
type LocalHolder struct {
	grant
	Client *Client
	Lease  *lockstrategy.Lease

	ended chan struct{} // closed when Watch is over; nil: it was not called
}

// TryAcquire requests the lock. A refusal is an error.
func (c *Client) TryAcquire(ctx context.Context, options ...lockstrategy.Option) (*LocalHolder, error) {
	c.attempts++
	h := &LocalHolder{Client: c, grant: grant{Name: c.Name, Key: c.Key, Owner: fmt.Sprintf("%s%d", c.Name, c.attempts), t: c.t}}
	h.record(history.Request, "")
	lease, err := c.Lock.Acquire(ctx, c.Key, options...)
	if err != nil {
		h.record(history.Refuse, Reason(err))
		return nil, err
	}
	h.Lease, h.Token = lease, lease.FencingToken()
	h.record(history.Grant, "")
	return h, nil
}

// Acquire acquires the lock.
func (c *Client) Acquire(ctx context.Context, options ...lockstrategy.Option) *LocalHolder {
	h, err := c.TryAcquire(ctx, options...)
	c.t.Must(err)
	return h
}

// Update acquires the lock, adds one to r, and releases the lock.
func (c *Client) Update(ctx context.Context, r *Resource, options ...lockstrategy.Option) {
	h := c.Acquire(ctx, options...)
	r.Add(h)
	h.Release(ctx)
}

// TryOnce makes one attempt, and returns nil when another client holds the lock.
func (c *Client) TryOnce(ctx context.Context) *LocalHolder {
	h, err := c.TryAcquire(ctx, lockstrategy.TryOnce())
	if errors.Is(err, lockstrategy.ErrTaken) {
		return nil
	}
	c.t.Must(err)
	return h
}

// UpdateOnce makes one attempt, adds one to r when it is granted, and releases. It reports whether it was granted.
func (c *Client) UpdateOnce(ctx context.Context, r *Resource) (granted bool) {
	h := c.TryOnce(ctx)
	if h == nil {
		return false
	}
	r.Add(h)
	_ = h.TryRelease(ctx) // another client may have freed it
	return true
}

// TryUpdate requests the lock, and adds one to r when it is granted. A refusal is recorded, whatever its reason, and ends no trial.
func (c *Client) TryUpdate(ctx context.Context, r *Resource) {
	h, err := c.TryAcquire(ctx)
	if err == nil {
		r.Add(h)
		_ = h.TryRelease(ctx) // some nodes may be dead
	} else if !errors.Is(err, lockstrategy.ErrNotAcquired) {
		c.t.Must(err)
	}
}

// Release releases the lock. An error ends the trial.
func (h *LocalHolder) Release(ctx context.Context) { h.t.Must(h.TryRelease(ctx)) }

// TryRelease implements [Holder]. An error is recorded, and does not end the trial: the server may be dead.
func (h *LocalHolder) TryRelease(ctx context.Context) error {
	h.record(history.Release, "")
	err := h.Lease.Release(ctx)
	h.record(history.Released, Reason(err))
	return err
}

// Watch records the loss when the lease's context ends, until ctx ends.
func (h *LocalHolder) Watch(ctx context.Context) {
	h.ended = make(chan struct{})
	h.t.Go(func() {
		defer close(h.ended)
		select {
		case <-h.Lease.Context().Done():
			h.record(history.Lose, Reason(context.Cause(h.Lease.Context())))
		case <-ctx.Done():
		}
	})
}

// AwaitLoss waits until the holder has learned of its loss, which is recorded, or until ctx ends: that is an error.
func (h *LocalHolder) AwaitLoss(ctx context.Context) error {
	if h.ended == nil {
		h.Watch(ctx)
	}
	<-h.ended
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s has not learned of its loss: %w", h.Name, err)
	}
	return nil
}

// Alive reports whether the lease's context has not ended. It records the loss when it has.
func (h *LocalHolder) Alive() bool {
	if h.Lease.Context().Err() == nil {
		return true
	}
	h.record(history.Lose, Reason(context.Cause(h.Lease.Context())))
	return false
}

// Relies reports whether the lease's context has not ended, although this process runs. A process that was stalled has timers that are
// overdue. They run a moment after it runs again, and the end of the context is one of them. A process that is paused cannot look: L11
// shows what happens then.
func (h *LocalHolder) Relies() bool {
	const moment = 100 * time.Millisecond
	select {
	case <-h.Lease.Context().Done():
		return false
	case <-time.After(h.t.Scaled(moment)):
		return h.Lease.Context().Err() == nil
	}
}

// AwaitConfirmation waits until the server has confirmed the lease once more since it was good until then. A holder of the Redis lock asks
// for that when it begins to listen, a moment after the grant. It would notice a fault before that.
func (h *LocalHolder) AwaitConfirmation(ctx context.Context, granted time.Time) {
	h.t.Must(servers.Until(ctx, func(context.Context) error {
		if err := h.Lease.Context().Err(); err != nil {
			return servers.Permanent{Err: fmt.Errorf("%s has not confirmed its lease, which has ended: %w", h.Name, err)}
		}
		if h.Lease.Until().Equal(granted) {
			return errors.New(h.Name + " has not confirmed its lease")
		}
		return nil
	}))
}

// RecordedGuard is a guard of one caller at a time. It records each request, grant and release.
type RecordedGuard struct {
	lockstrategy.Guard
	Trial *lab.Trial
	Name  string // of the timeline, and of the owner
	Of    string // behind a key: whose lock it is; empty: of all instances
}

// Do is that of the guard.
func (g RecordedGuard) Do(ctx context.Context, key string, fn func(context.Context, uint64) error) error {
	e := history.Event{Timeline: g.Name, Owner: g.Name, Kind: history.Request, Key: key + g.Of}
	g.Trial.Record(e)
	return g.Guard.Do(ctx, key, func(ctx context.Context, token uint64) error {
		e.Kind, e.Token = history.Grant, token
		g.Trial.Record(e)
		err := fn(ctx, token)
		e.Kind = history.Release
		g.Trial.Record(e)
		return err
	})
}

// Holder is a client that holds a lock, or believes to hold it. What it does with the lock is recorded in its client's timeline.
//
// The client is a goroutine of the lab ([LocalHolder]), or a process that speaks package protocol ([ProcessHolder]): one of this binary, or
// anybody's program. [Unlocked] is a client that asks nobody.
type Holder interface {
	// FencingToken is the token of the grant; 0: it has none.
	FencingToken() uint64
	// Record records an event of the holder.
	Record(e history.Event)
	// TryRelease releases the lock. The error is the client's, such as that it does not hold the lock any more.
	TryRelease(ctx context.Context) error
}

// grant is what every holder has.
type grant struct {
	Name  string // of its client, which is its timeline
	Key   string
	Owner string // of this grant
	Token uint64

	t *lab.Trial
}

// FencingToken implements [Holder].
func (g *grant) FencingToken() uint64 { return g.Token }

// Record implements [Holder].
func (g *grant) Record(e history.Event) {
	e.Timeline, e.Owner, e.Token = g.Name, g.Owner, g.Token
	g.t.Record(e)
}

func (g *grant) record(kind history.Kind, text string) {
	g.Record(history.Event{Kind: kind, Key: g.Key, Text: text})
}

// Note records a remark about the client.
func (g *grant) Note(text string) { g.t.Note(g.Name, text) }

// Mark records a note of the client that code finds.
func (g *grant) Mark(m history.Mark) { g.t.Mark(g.Name, m) }

// Unlocked is a client that enters the section and asks no lock. owner names this time.
func Unlocked(t *lab.Trial, name, owner string) Holder {
	return unlocked{&grant{Name: name, Owner: owner, t: t}}
}

type unlocked struct{ *grant }

// TryRelease implements [Holder]: there is nothing to release.
func (unlocked) TryRelease(context.Context) error { return nil }
