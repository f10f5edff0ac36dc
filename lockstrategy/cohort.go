package lockstrategy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Cohort puts one first-in-first-out queue per key in front of a strategy ("lock cohorting", Dice, Marathe, Shavit 2012). Only the
// first caller of a queue competes: a process is one contender, whatever its load. On release the lease is handed off to the next
// caller, without a request to the server, within the bounds of [HandOff]. Then the key goes back, and other processes
// that wait go first (yield.go).
//
// A caller that acquires a key under the context of its own lease on that key enters again, without a request. The options
// then change nothing.
//
// A cohort knows the sequence of its own process's callers only. When the strategy is unavailable for the caller that competes, every
// caller in the queue gets that error immediately. Otherwise each of them would wait for a timeout, one after the other.
//
// [TryOnce] gets [ErrTaken] while another caller of the process holds the key, competes for it or releases it. The key may be free then,
// while that caller yields. Otherwise TryOnce asks the server, and does not yield.
//
// The queue of a key is a state machine. The package documentation has a table of its states, and queue.go the transitions.
type Cohort struct {
	strategy Strategy
	bounds   HandOff

	mu     sync.Mutex
	queues map[string]*queue
	closed bool
}

// HandOff bounds how long a process may keep a key among its own callers before other processes get their turn. Zero fields mean
// the defaults ("Sustained" in docs/benchmark.md). The bounds are checked at a release: a holder that keeps the lease longer is not
// interrupted.
type HandOff struct {
	Count int           // leases in a row; 0: 128, 1: no hand-off. Where there are fencing tokens a turn has 256 at most
	Time  time.Duration // since the key came to the process; 0: 100 ms
}

// NewCohort puts a cohort in front of strategy.
func NewCohort(strategy Strategy, bounds HandOff) (*Cohort, error) {
	if bounds.Count < 0 || bounds.Time < 0 {
		return nil, fmt.Errorf("lock: hand-off of %d leases in %s: the bounds are positive", bounds.Count, bounds.Time)
	}
	bounds = HandOff{Count: cmp.Or(bounds.Count, 128), Time: cmp.Or(bounds.Time, 100*time.Millisecond)}
	return &Cohort{strategy: strategy, bounds: bounds, queues: make(map[string]*queue)}, nil
}

// Acquire waits until the caller is the first of key's queue. Then it takes the lease that is handed off to it, or competes.
func (c *Cohort) Acquire(ctx context.Context, key string, options ...Option) (*Lease, error) {
	if lease := c.enterAgain(ctx, key); lease != nil {
		return lease, nil
	}
	cl, err := newCaller(ctx, key, options)
	if err != nil {
		return nil, notAcquired(key, err)
	}
	if cl.request.Wait != nil { // apart, so that a caller without a bound needs no larger stack for it
		return c.acquireWithin(cl)
	}
	return c.acquire(cl)
}

// acquireWithin waits no longer than the request allows.
func (c *Cohort) acquireWithin(cl *caller) (*Lease, error) {
	wait, cancel := cl.request.within(cl.ctx)
	defer cancel()
	cl.waitCtx = wait
	return c.acquire(cl)
}

// enterAgain returns one more lease for a caller that holds key already, or nil.
func (c *Cohort) enterAgain(ctx context.Context, key string) *Lease {
	h, _ := ctx.Value(holderKey{c, key}).(*holder)
	if h == nil || ctx.Err() != nil {
		return nil
	}
	for n := h.entries.Load(); n > 0 && h.ctx.Err() == nil; n = h.entries.Load() {
		if h.entries.CompareAndSwap(n, n+1) {
			return h.lease(ctx)
		}
	}
	return nil
}

// holderKey finds a caller's holder in a context.
type holderKey struct {
	cohort *Cohort
	key    string
}

// heldContext ends with its holder, has the values of the caller's context, and the holder in it.
type heldContext struct {
	context.Context
	values context.Context
	holder *holder
}

// Value looks at the holder's own context first, because package context finds the cause of an end by a value.
func (c *heldContext) Value(key any) any {
	if key == any(holderKey{c.holder.cohort, c.holder.key}) {
		return c.holder
	}
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

// under is ctx for work that may enter again.
func (l *Lease) under(ctx context.Context) context.Context {
	if h, ok := l.origin.(*holder); ok {
		return context.WithValue(ctx, holderKey{h.cohort, h.key}, h)
	}
	return ctx
}

// Waiting returns how many callers wait in all queues. A caller that competes or holds is not counted.
func (c *Cohort) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, q := range c.queues {
		n += q.callers.Len()
	}
	return n
}

// Close ends the wait of every caller in a queue. Callers that arrive from now on get [ErrUnavailable]. Leases that are held stay held, can
// be entered again, and can be released. Close does not close the strategy, which a caller may be asking.
func (c *Cohort) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for key, q := range c.queues {
		q.failAll(notAcquired(key, errClosed))
	}
}

// bare is a context without its values: a turn has several holders, each with the values of its own context.
type bare struct{ context.Context }

// Value finds nothing.
func (bare) Value(any) any { return nil }

// caller is one call of Acquire. It is small, and its frames are, because ten thousand callers may wait (memory in docs/benchmark.md).
type caller struct {
	ctx     context.Context // the context of the lease has its values
	waitCtx context.Context // bounds the wait
	key     string
	request Request
	ready   chan answer // receives once
}

func newCaller(ctx context.Context, key string, options []Option) (*caller, error) {
	request, err := NewRequest(options...)
	return &caller{ctx: ctx, waitCtx: ctx, key: key, request: request, ready: make(chan answer, 1)}, err
}

// private reports whether the caller sets its own lease, or bound of renewal. It gets a new grant, and never a lease that is handed off.
func (cl *caller) private() bool { return cl.request.Expiry != nil || cl.request.RenewAtMost != nil }

// waitEnded is the error of a caller whose wait has ended. last says why it got no lease until then: an error with an [OtherHolder] in it,
// or the refusal of a server. It is nil for a caller that has not waited.
func (cl *caller) waitEnded(last error) error {
	err, other := ended(cl.waitCtx), OtherHolder{}
	switch {
	case errors.Is(last, ErrUnavailable):
		err = fmt.Errorf("%w: %w", err, last)
	case errors.As(last, &other):
		err = fmt.Errorf("%w: %w", err, other)
	}
	return notAcquired(cl.key, err)
}
