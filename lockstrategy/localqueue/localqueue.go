// Package localqueue is a queue of the callers in one process, in front of any lock. It adds three things: first in, first out; a
// lease that goes from one caller to the next without a request; and a caller that enters again.
package localqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"locklab/lockstrategy"
)

// Queue puts one first-in-first-out line of callers per key in front of a strategy ("lock cohorting", Dice, Marathe, Shavit 2012). Only the
// first caller of a line competes: a process is one contender, whatever its load. On release the lease is handed off to the next
// caller, without a request to the server, within the bounds of [HandOff]. Then the key goes back, and other processes
// that wait go first (see [lockstrategy.Yielder]).
//
// A caller that acquires a key under the context of its own lease on that key enters again, without a request. The options
// then change nothing.
//
// A queue knows the sequence of its own process's callers only. When the strategy is unavailable for the caller that competes, every
// caller in the line gets that error immediately. Otherwise each of them would wait for a timeout, one after the other.
//
// [lockstrategy.TryOnce] gets [lockstrategy.ErrTaken] while another caller of the process holds the key, competes for it or releases it.
// Otherwise it asks the server, and lets nobody go first.
type Queue struct {
	strategy lockstrategy.Strategy
	bounds   HandOff

	mu     sync.Mutex
	lines  map[string]*line
	closed bool
}

// HandOff bounds how long a process may keep a key among its own callers before other processes get their turn. Zero fields mean
// the defaults ("Sustained" in docs/benchmark.md). The bounds are checked at a release: a holder that keeps the lease longer is not
// interrupted.
type HandOff struct {
	// Count is how many leases follow each other. The default is 128, and 1 means no hand-off. Where leases have fencing tokens, a turn has
	// 256 leases at most.
	Count int
	// Time counts from when the key came to the process. The default is 100 ms.
	Time time.Duration
}

// New puts a queue in front of strategy.
func New(strategy lockstrategy.Strategy, bounds HandOff) (*Queue, error) {
	switch {
	case strategy == nil:
		return nil, errors.New("lock: no strategy to put a queue in front of")
	case bounds.Count < 0 || bounds.Time < 0:
		return nil, fmt.Errorf("lock: hand-off of %d leases in %s: neither may be negative; 0 is the default", bounds.Count, bounds.Time)
	}
	bounds = HandOff{Count: cmp.Or(bounds.Count, 128), Time: cmp.Or(bounds.Time, 100*time.Millisecond)}
	return &Queue{strategy: strategy, bounds: bounds, lines: make(map[string]*line)}, nil
}

// Acquire waits until the caller is the first of key's line. Then it takes the lease that is handed off to it, or competes.
func (q *Queue) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	if lease := q.enterAgain(ctx, key); lease != nil {
		return lease, nil
	}
	request, err := lockstrategy.NewRequest(options...)
	if err != nil {
		return nil, lockstrategy.NotAcquired(key, err)
	}
	wait, cancel := request.Within(ctx)
	defer cancel()
	cl := &caller{ctx: ctx, wait: wait, key: key, request: request, options: options, ready: make(chan answer, 1)}
	return q.acquire(cl)
}

// enterAgain returns one more lease for a caller that holds key already, or nil.
func (q *Queue) enterAgain(ctx context.Context, key string) *lockstrategy.Lease {
	h, _ := ctx.Value(holderKey{q, key}).(*holder)
	if h == nil || ctx.Err() != nil {
		return nil
	}
	for n := h.entries.Load(); n > 0 && h.ctx.Err() == nil; n = h.entries.Load() {
		if h.entries.CompareAndSwap(n, n+1) {
			return h.again(ctx)
		}
	}
	return nil
}

// holderKey finds a caller's holder in the context of its lease.
type holderKey struct {
	queue *Queue
	key   string
}

// Waiting returns how many callers wait in all lines. A caller that competes or holds is not counted.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, l := range q.lines {
		n += l.callers.Len()
	}
	return n
}

// Close ends the wait of every caller in a line. Callers that arrive from now on get [lockstrategy.ErrUnavailable]. Leases that are held
// stay held, can be entered again, and can be released. Close does not close the strategy, which a caller may be asking.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for key, l := range q.lines {
		l.failAll(lockstrategy.NotAcquired(key, lockstrategy.ErrClosed))
	}
}
