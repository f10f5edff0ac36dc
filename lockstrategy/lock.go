package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Strategy is a way to lock.
type Strategy interface {
	// Acquire blocks until the caller holds key, the strategy fails, or ctx ends and no request is under way. An error wraps
	// [ErrNotAcquired] and the reason. The lease outlives ctx: it ends by [Lease.Release] or by loss. Release a lost one, too.
	Acquire(ctx context.Context, key string, options ...Option) (*Lease, error)
}

// Lease is a held lock. It has a lifetime: its context.
type Lease struct {
	ctx           context.Context
	token, tokens uint64 // the first, and how many
	behind        behind
	released      atomic.Bool
	others        atomic.Int64
}

// behind is what a lease delegates to: its session, or its holder in a [Cohort].
type behind interface {
	until() time.Time
	release(ctx context.Context) (others int, err error)
}

// Context ends when the lock is no longer held: with a cause that wraps [ErrLost] after a loss, with [context.Canceled] after the
// last release. It has the values of the context under which the lease was acquired. Pass it to all work that needs the lock.
func (l *Lease) Context() context.Context { return l.ctx }

// FencingToken is a number that grows from lease to lease of a key. 0: this strategy issues none.
func (l *Lease) FencingToken() uint64 { return l.token }

// Until is when the lease ends unless it is renewed before. Zero: it does not end by itself.
func (l *Lease) Until() time.Time { return l.behind.until() }

// Others is how many other processes waited for the key when it was given back with this lease. It is 0 before that and after a
// hand-off, and [Unknown] where the backend cannot tell.
func (l *Lease) Others() int { return int(l.others.Load()) }

// Release ends the context, and gives the lock back or hands it off. A caller that entered again must release each of
// its leases: only the last release gives the lock back. It works under a ctx that has ended.
//
// The second call returns [ErrNotHeld] and changes nothing. A lease that was lost returns the cause, an [ErrLost]: the work under it
// may have overlapped with another holder's. Any other error means that the server did not confirm the release. Then the release is
// repeated in the background, and the lock is free at the latest when the server ends the lease.
func (l *Lease) Release(ctx context.Context) error {
	if l.behind == nil || l.released.Swap(true) {
		return ErrNotHeld
	}
	others, err := l.behind.release(ctx)
	l.others.Store(int64(others))
	return err
}

// Unknown is what Lease.Others says where the backend cannot tell.
const Unknown = -1

// Request is what a caller of Acquire asks for: the result of its options.
type Request struct {
	Once  bool           // make one attempt
	Wait  *time.Duration // longest wait; nil: as long as the context
	Lease *time.Duration // time of a lease that is not renewed; nil: the strategy's own, renewed
	Renew *time.Duration // longest time under renewal; nil: until the release
	// A decorator asks for these:
	Tokens uint64 // how many fencing tokens to reserve, from the lease's own on; at least 1
	Others int    // how many other processes to let go first, as told by Lease.Others: the yield rule
}

// Option changes how a lock is acquired.
type Option func(*Request)

// TryOnce makes one attempt and does not wait: [ErrTaken] when another holds the key.
func TryOnce() Option { return func(r *Request) { r.Once = true } }

// WaitAtMost waits for d at most. Then the error wraps [context.DeadlineExceeded]. If d is zero or negative, Acquire returns that
// error immediately and makes no attempt.
func WaitAtMost(d time.Duration) Option { return func(r *Request) { r.Wait = &d } }

// LeaseFor takes a lease of d that is not renewed. Afterwards it is lost with [ErrExpired], and the lock is free even if its holder
// hangs (ZooKeeper: when its session ends). Less than ten milliseconds are refused.
func LeaseFor(d time.Duration) Option { return func(r *Request) { r.Lease = &d } }

// RenewAtMost bounds the time for which a lease is renewed: it is lost with [ErrExpired] after d, which must be positive. Beside
// [LeaseFor], the shorter one counts.
func RenewAtMost(d time.Duration) Option { return func(r *Request) { r.Renew = &d } }

// NewRequest applies options, and refuses those that cannot work.
func NewRequest(options ...Option) (Request, error) {
	r := Request{Tokens: 1}
	for _, option := range options {
		option(&r)
	}
	switch {
	case r.Wait != nil && *r.Wait <= 0:
		return r, fmt.Errorf("the wait is limited to %s; it must be positive: %w", *r.Wait, context.DeadlineExceeded)
	case r.Lease != nil && *r.Lease < shortestLease:
		return r, fmt.Errorf("a lease of %s: the shortest is %s", *r.Lease, shortestLease)
	case r.Renew != nil && *r.Renew <= 0:
		return r, fmt.Errorf("renewal is limited to %s; it must be positive", *r.Renew)
	}
	return r, nil
}

// within bounds the wait, and only the wait: the lease outlives the bound.
func (r Request) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Wait == nil {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, *r.Wait, fmt.Errorf("waited %s, which is the limit: %w", *r.Wait, context.DeadlineExceeded))
}

// Errors of Acquire, and of leases. One that carries ErrNotAcquired also wraps the reason: the context's own error,
// [ErrExpired], or another of these.
var (
	ErrNotAcquired = errors.New("lock: not acquired")
	// ErrTaken answers an attempt that was not to wait: another holds the key.
	ErrTaken = errors.New("lock: another holds it")
	// ErrUnavailable says that the lock's server gave no usable answer. Whether it executed the request is unknown. What it may
	// have granted is released in the background as soon as the server answers, and ends with its lease otherwise.
	ErrUnavailable = errors.New("lock: server unavailable")

	// ErrNotHeld answers a second release of the same lease.
	ErrNotHeld = errors.New("lock: not held")
	// ErrLost says that a lease ended before its holder released it: another may hold the key. The four errors below are its causes.
	ErrLost = errors.New("lock: lease lost")
	// ErrExpired says that the time that was asked for is over, or that the holder did not run when it should have renewed.
	ErrExpired = fmt.Errorf("%w: its time is over", ErrLost)
	// ErrForced replaces ErrGone when a message has said that another process released the key, such as a forced unlock.
	ErrForced = fmt.Errorf("%w: another process released it", ErrLost)
	// ErrGone says that the key no longer belongs to the holder: it was deleted, evicted, or lost in a failover.
	ErrGone = fmt.Errorf("%w: the server no longer has it as this holder's", ErrLost)
	// ErrUnreachable says that no renewal was confirmed before the lease's end.
	ErrUnreachable = fmt.Errorf("%w: no renewal was confirmed in time", ErrLost)
)

func notAcquired(key string, cause error) error {
	return fmt.Errorf("%w: %s: %w", ErrNotAcquired, key, cause)
}

// ended says why ctx ended: its cause, and in any case its own error.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// loss says why a lease with this context was lost; nil: it was not.
func loss(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrLost) {
		return cause
	}
	return nil
}
