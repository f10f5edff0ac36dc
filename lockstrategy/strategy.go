package lockstrategy

import (
	"context"
	"fmt"
	"time"
)

// Strategy is a way to lock.
type Strategy interface {
	// Acquire blocks until the caller holds key or ctx ends; then the error wraps [ErrNotAcquired]
	// and ctx's own. It never returns nil and nil. The lease outlives ctx: it ends by
	// [Lease.Release] or by loss, and every lease must be released, a lost one too.
	//
	// Under the context of a lease on the same key it returns at once, with a lease on what is held
	// already (re-entrance); options then change nothing.
	Acquire(ctx context.Context, key string, options ...Option) (*Lease, error)
}

// Option changes how a lock is acquired.
type Option func(*options)

type options struct {
	atOnce bool
	wait   *time.Duration // longest; nil: as long as the context
	lease  *time.Duration // explicit; nil: the strategy's own, renewed
	total  *time.Duration // longest time under renewal; nil: no bound
}

// TryOnce makes one attempt and does not wait: [ErrTaken] when another holds the key.
func TryOnce() Option { return func(o *options) { o.atOnce = true } }

// WaitAtMost waits for d at most; then the error wraps [context.DeadlineExceeded]. Without time left (d is zero or
// negative) it is that at once, without an attempt.
func WaitAtMost(d time.Duration) Option { return func(o *options) { o.wait = &d } }

// LeaseFor takes a lease of d that is not renewed: afterwards it is lost with [ErrExpired], and the lock is free
// even if its holder hangs. Less than ten milliseconds are refused.
func LeaseFor(d time.Duration) Option { return func(o *options) { o.lease = &d } }

// RenewAtMost bounds the time for which a lease is renewed: it is lost with [ErrExpired] after d, which must be
// positive. Beside [LeaseFor], the shorter one counts.
func RenewAtMost(d time.Duration) Option { return func(o *options) { o.total = &d } }

// ownTerms reports whether the lease cannot be one that was handed off.
func (o *options) ownTerms() bool { return o.lease != nil || o.total != nil }

// chosen applies options; without any it waits as long as the context and renews.
func chosen(list []Option) (*options, error) {
	o := new(options)
	for _, option := range list {
		option(o)
	}
	switch {
	case o.lease != nil && *o.lease < shortestLease:
		return nil, fmt.Errorf("lock: a lease of %s: the shortest is %s", *o.lease, shortestLease)
	case o.total != nil && *o.total <= 0:
		return nil, fmt.Errorf("lock: a lease for at most %s: that is no time", *o.total)
	}
	return o, nil
}

// explicit is the lease that was asked for; 0: the backend's own.
func (o *options) explicit() time.Duration {
	if o.lease == nil {
		return 0
	}
	return *o.lease
}

// Backend is what stands behind a [Gate]: it grants a key to one process at a time. A gate asks one question for
// a key at a time, and only when no lease of its process is to be relied on.
type Backend interface {
	// Grant waits until the caller has key or ctx ends; then the error wraps [ErrNotAcquired]. What may have
	// been granted to a question without an answer, it undoes.
	Grant(ctx context.Context, key string, ask Ask) (Terms, error)
}

// Ask is what a gate wants of its backend.
type Ask struct {
	AtOnce bool          // do not wait: ErrTaken
	Lease  time.Duration // explicit, not to be renewed; 0: the backend's own
	Block  uint64        // how many fences the grant is to reserve
	Defer  time.Duration // let the other processes go first: for so long, or until one has
}

// Terms is what a backend says about a key that it has just granted.
type Terms struct {
	Fence   uint64        // the number of this grant; 0: the backend issues none
	Block   uint64        // the numbers from Fence on that are this grant's: one for each lease
	Until   time.Time     // counted from BEFORE the request was sent; zero: no expiry
	Renewal time.Duration // between renewals; 0: it is not renewed
	Keeper  Keeper        // nil: there is nobody to tell
}

// Keeper keeps a key that was granted, and gives it back. Its calls bound themselves. Release may be called more
// than once, and beside itself and Renew.
type Keeper interface {
	// Renew extends the lease, an explicit one only confirms it. An error that wraps [ErrLost] is final, others are retried.
	Renew(ctx context.Context) (until time.Time, err error)
	// Release gives the key back. again: this process wants the key next. wait: other processes do, too,
	// and are to go first (see [Ask.Defer]).
	Release(ctx context.Context, again bool) (wait time.Duration, err error)
	// Watch returns a channel that receives when the lock may have been taken away. stop must be called.
	Watch() (ring <-chan struct{}, stop func())
}

// None grants every key to everybody at once. Alone it is no lock (v1); behind a [Cohort] it is a
// mutex in the process (v2), which another process does not see.
type None struct{}

var (
	_ Strategy = None{}
	_ Backend  = None{}
)

// Acquire grants key, unless ctx has ended. There is no lock that an option could be about.
func (None) Acquire(ctx context.Context, key string, _ ...Option) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, notAcquired(key, ended(ctx))
	}
	return newHold(nil, key).lease(ctx), nil
}

// Grant grants key.
func (None) Grant(_ context.Context, _ string, ask Ask) (Terms, error) {
	if ask.Lease > 0 {
		return Terms{Until: time.Now().Add(ask.Lease)}, nil
	}
	return Terms{}, nil
}
