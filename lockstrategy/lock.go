package lockstrategy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Strategy is a way to lock.
type Strategy interface {
	// Acquire blocks until the caller holds key, the strategy fails, or ctx ends. A request that is under way is waited for, so Acquire
	// may return a lease although ctx has ended meanwhile. An error wraps [ErrNotAcquired] and the reason. The lease outlives ctx: it ends
	// by [Lease.Release] or by loss. Release a lost one, too.
	Acquire(ctx context.Context, key string, options ...Option) (*Lease, error)
}

// Lease is a held lock. It has a lifetime: its context.
type Lease struct {
	ctx      context.Context
	token    uint64
	holder   Holder
	released atomic.Bool
}

// Holder does the work of a [Lease]: a session with a server, or a holder in a queue. Users of a lease do not need it.
type Holder interface {
	// Until is when the lease ends unless it is renewed before. It is zero for a lease that does not end by itself.
	Until() time.Time
	// Release is called once, and does what [Lease.Release] says. It ends the lease's context before it asks a server.
	Release(ctx context.Context) error
}

// Yielder is an optional interface of a [Holder], for a queue in front of a strategy. The queue calls it after a release, before its next
// caller asks the server, so that other processes that wait go first. A strategy whose server queues those that wait does not need it.
type Yielder interface {
	// Others is how many other processes the release has notified, because they wait. It is negative where the server
	// cannot tell.
	Others() int
	// Yield blocks until they have had the key, or do not seem to want it. It returns early when ctx ends.
	Yield(ctx context.Context)
}

// NewLease is for strategies. ctx is the lease's context, which the holder ends.
func NewLease(ctx context.Context, token uint64, holder Holder) *Lease {
	return &Lease{ctx: ctx, token: token, holder: holder}
}

// Context ends when the lock is no longer held: with a cause that wraps [ErrLost] after a loss, with [context.Canceled] after the
// last release. It has the values of the context under which the lease was acquired. Pass it to all work that needs the lock.
func (l *Lease) Context() context.Context { return l.ctx }

// FencingToken is a number that grows from lease to lease of a key. It is 0 with a strategy that issues none.
func (l *Lease) FencingToken() uint64 { return l.token }

// Until is when the lease ends unless it is renewed before. It is zero for a lease that does not end by itself.
func (l *Lease) Until() time.Time { return l.holder.Until() }

// Holder is for a queue in front of a strategy.
func (l *Lease) Holder() Holder { return l.holder }

// Release ends the context, and gives the lock back or hands it off. A caller that entered again must release each of its leases: only
// the last release does that. It works under a ctx that has ended.
//
// The second call returns [ErrNotHeld] and changes nothing. A lease that was lost returns the cause, an [ErrLost]: the work under it
// may have overlapped with another holder's. Any other error means that the server did not confirm the release. Then the release is
// repeated in the background, and the lock is free at the latest when the server ends the lease.
func (l *Lease) Release(ctx context.Context) error {
	if l.released.Swap(true) {
		return ErrNotHeld
	}
	return l.holder.Release(ctx)
}

// Request is what one Acquire asks for: the result of its options.
type Request struct {
	Once        bool           // [TryOnce]
	Wait        *time.Duration // [WaitAtMost], if it was given
	Expiry      *time.Duration // [LeaseFor], if it was given. Otherwise the lease has the strategy's length and is renewed
	RenewAtMost *time.Duration // [RenewAtMost], if it was given. Otherwise the lease is renewed until its release
}

// Option changes how a lock is acquired.
type Option func(*Request)

// TryOnce makes one attempt and does not wait: [ErrTaken] when another holds the key.
func TryOnce() Option { return func(r *Request) { r.Once = true } }

// WaitAtMost waits for d at most, and then for the answer to a request that is under way. The error wraps [context.DeadlineExceeded], or
// [ErrUnavailable] when no answer came. If d is zero or negative, Acquire makes no attempt, and the error wraps the former.
func WaitAtMost(d time.Duration) Option { return func(r *Request) { r.Wait = &d } }

// LeaseFor takes a lease of d that is not renewed. Afterwards it is lost with [ErrExpired], and the lock is free even if its holder
// hangs (ZooKeeper: when its session ends). Less than ten milliseconds and more than 24 hours are refused, before anything is sent.
func LeaseFor(d time.Duration) Option { return func(r *Request) { r.Expiry = &d } }

// RenewAtMost bounds the time for which a lease is renewed: it is lost with [ErrExpired] after d, which must be positive. Beside
// [LeaseFor], the shorter one counts.
func RenewAtMost(d time.Duration) Option { return func(r *Request) { r.RenewAtMost = &d } }

// NewRequest applies options, and refuses those that cannot work.
func NewRequest(options ...Option) (Request, error) {
	var r Request
	for _, option := range options {
		option(&r)
	}
	switch {
	case r.Wait != nil && *r.Wait <= 0:
		return r, fmt.Errorf("the wait is limited to %s; it must be positive: %w", *r.Wait, context.DeadlineExceeded)
	case r.Expiry != nil && (*r.Expiry < ShortestLease || *r.Expiry > LongestLease):
		return r, fmt.Errorf("a lease of %s: it must be %s to %s", *r.Expiry, ShortestLease, LongestLease)
	case r.RenewAtMost != nil && *r.RenewAtMost <= 0:
		return r, fmt.Errorf("renewal is limited to %s; it must be positive", *r.RenewAtMost)
	}
	return r, nil
}

// Lease is how long a lease lasts, and whether it is renewed. own is the strategy's.
func (r Request) Lease(own time.Duration) (expiry time.Duration, renewed bool) {
	if r.Expiry != nil {
		return *r.Expiry, false
	}
	return own, true
}

// Within bounds the wait, and only the wait: the lease outlives the bound.
func (r Request) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Wait == nil {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, *r.Wait, fmt.Errorf("waited %s, which is the limit: %w", *r.Wait, context.DeadlineExceeded))
}

// DefaultLease is the time after which the server frees a key unless its lease is renewed, as in Redisson (A2 of docs/articles.md).
const DefaultLease = 30 * time.Second

// Bounds of a lease, in every strategy. The shortest leaves time for a renewal on a busy machine. Servers refuse far longer leases, or read
// them as dates.
const (
	ShortestLease = 10 * time.Millisecond
	LongestLease  = 24 * time.Hour
)

// Timing is how long leases and answers may last. Zero fields mean the defaults.
type Timing struct {
	// Expiry is the length of a lease, from ShortestLease to LongestLease. After it the server frees the key, unless the lease was renewed.
	// A renewal is due after a third of it. The default is DefaultLease.
	Expiry time.Duration
	// Request is the longest wait for one answer. The default is two seconds, or a third of a lease that is shorter than six.
	Request time.Duration
}

// WithDefaults applies the defaults. It refuses a request timeout of two thirds of the lease or more: a renewal has to be answered in time.
func (t Timing) WithDefaults() (Timing, error) {
	t.Expiry = cmp.Or(t.Expiry, DefaultLease)
	t.Request = cmp.Or(t.Request, min(2*time.Second, t.Expiry/3))
	if renewal := t.Expiry / 3; t.Expiry < ShortestLease || t.Expiry > LongestLease || t.Request <= 0 || 2*renewal <= t.Request {
		return t, fmt.Errorf(
			"lock: lease %s, request timeout %s: the lease must be %s to %s, and over one and a half times the request timeout",
			t.Expiry, t.Request, ShortestLease, LongestLease)
	}
	return t, nil
}

// TokensPerGrant is how many leases one grant of a server has room for. A fencing token is the number of the grant times this, plus the
// hand-offs since, so a hand-off needs no request. The largest numbers are times in steps of 32 µs since 2000 (acquire.lua): until 2035
// they stay below 2^45, and their tokens below 2^53, up to which JavaScript keeps integers exactly.
const TokensPerGrant = 256

// Errors of Acquire, and of leases. One that carries ErrNotAcquired also wraps the reason: the context's own error,
// [ErrExpired], or another of these.
var (
	ErrNotAcquired = errors.New("lock: not acquired")
	// ErrTaken is the answer to [TryOnce] while another holds the key.
	ErrTaken = errors.New("lock: another holds it")
	// ErrUnavailable says that the lock's server gave no usable answer. Whether it executed the request is unknown. A grant
	// that may exist is released in the background as soon as the server answers, and ends with its lease otherwise.
	ErrUnavailable = errors.New("lock: server unavailable")

	ErrClosed = fmt.Errorf("%w: this strategy has been closed", ErrUnavailable)

	// ErrNotHeld is the answer to a second release of the same lease.
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

// OtherHolder describes the client that had the key at the last attempt. An error of Acquire wraps it after an attempt that was not
// granted, also when a wait has ended. No strategy knows that client's name: owners have random ones.
type OtherHolder struct {
	Here bool          // a caller of the same process has the key, competes for it or releases it
	Left time.Duration // the rest of its lease when the wait ended, unless it renews the lease. It is 0 where the strategy cannot tell
}

func (h OtherHolder) Error() string {
	switch {
	case h.Here:
		return "a caller of this process has it, or is the next"
	case h.Left > 0:
		return fmt.Sprintf("another client has it, for %s unless it renews its lease", h.Left.Round(time.Millisecond))
	}
	return "another client has it, or is the next; for how long is not known"
}

// NotAcquired is the error of an Acquire that has failed because of cause.
func NotAcquired(key string, cause error) error {
	if errors.Is(cause, ErrNotAcquired) {
		return cause
	}
	return fmt.Errorf("%w: %s: %w", ErrNotAcquired, key, cause)
}

// EndOf says why ctx ended: its cause, and in any case its own error.
func EndOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// LossOf returns why a lease with this context was lost, or nil if it was not.
func LossOf(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrLost) {
		return cause
	}
	return nil
}
