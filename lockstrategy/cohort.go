package lockstrategy

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Cohort puts one first-in-first-out queue per key in front of a strategy ("lock cohorting", Dice, Marathe, Shavit 2012). Only the
// first caller of a queue competes: a process is one contender, whatever its load. On release the lease is handed off to the next
// caller, without a request to the server, within the bounds of [HandOff]. Then the key goes back, and other processes
// that wait go first (see [Request].Others).
//
// A caller that acquires a key under the context of its own lease on that key enters again, without a request. The options then
// change nothing.
//
// A cohort knows the order of its own process's callers only. When the strategy is unavailable, every caller in the queue gets that
// error immediately. Otherwise each of them would wait for a timeout, one after the other.
//
// [TryOnce] gets [ErrTaken] while another caller of the process holds the key or competes for it, even if the key is free. That caller may
// be yielding, or releasing a lost lease. Otherwise TryOnce asks the server, and does not yield.
type Cohort struct {
	strategy Strategy
	bounds   HandOff

	mu     sync.Mutex
	queues map[string]*queue
	closed bool
}

// queue is the callers that wait for one key. Its head is the caller that holds the key or competes for it, and is no longer in the list.
// There is a queue while it has a head, and for yieldWindow afterwards. One of handOff, next and disperse follows each head.
type queue struct {
	list.List           // of *caller, in the order of their arrival
	busy      bool      // it has a head
	others    int       // processes that the next caller lets go first: see Lease.Others
	idle      time.Time // since when it has none
	used      HandOff   // sum of the turns since the process last yielded; only where others cannot be counted
}

// owe sets how many others the next caller lets go first. Others that cannot be counted poll, and each yield to them costs a pause (v5
// in docs/benchmark.md, uncontended). So a process yields to them only after it has used up the bounds of a turn.
func (q *queue) owe(others int, t *turn, bounds HandOff) {
	q.others = others
	if others != Unknown {
		return
	}
	q.used.Count += int(t.holders)
	q.used.Time += time.Since(t.began)
	if q.used.Count < bounds.Count && q.used.Time < bounds.Time {
		q.others = 0
	} else {
		q.used = HandOff{}
	}
}

// caller is one call of Acquire. It is passed by pointer and its frames are small, because ten thousand callers may wait (memory in
// docs/benchmark.md).
type caller struct {
	ctx     context.Context // the lease has its values
	waiting context.Context // bounds the wait
	key     string
	request Request
	ready   chan call // receives once
}

// private reports whether the caller sets its own lease, or bound of renewal. It gets a new grant, and never a lease that is handed off.
func (w *caller) private() bool { return w.request.Lease != nil || w.request.Renew != nil }

// refused is the error of a caller whose wait has ended.
func (w *caller) refused() error { return notAcquired(w.key, ended(w.waiting)) }

// call tells a caller that it is the head, or that its wait has ended.
type call struct {
	turn *turn // whose lease is handed off; nil: the caller competes
	err  error // why the wait has ended
}

// yieldWindow is how long a process remembers that it has to yield, when no caller comes (row 8 × 1 of docs/benchmark.md).
const yieldWindow = 100 * time.Millisecond

// HandOff bounds how long a process may keep a key among its own callers before other processes get their turn. Zero fields mean
// the defaults ("Sustained" in docs/benchmark.md). The bounds are checked at a release: a holder that keeps the lease longer is not
// interrupted.
type HandOff struct {
	Count int           // leases in a row; 0: 256, 1: no hand-off
	Time  time.Duration // since the key came to the process; 0: 100 ms
}

// NewCohort puts a cohort in front of strategy.
func NewCohort(strategy Strategy, bounds HandOff) (*Cohort, error) {
	if bounds.Count < 0 || bounds.Time < 0 {
		return nil, fmt.Errorf("lock: hand-off of %d leases in %s: the bounds are positive", bounds.Count, bounds.Time)
	}
	bounds = HandOff{Count: cmp.Or(bounds.Count, 256), Time: cmp.Or(bounds.Time, 100*time.Millisecond)}
	return &Cohort{strategy: strategy, bounds: bounds, queues: make(map[string]*queue)}, nil
}

// Acquire waits until the caller is the head of key's queue. Then it takes the lease that is handed off to it, or competes.
func (c *Cohort) Acquire(ctx context.Context, key string, options ...Option) (*Lease, error) {
	if lease := c.enterAgain(ctx, key); lease != nil {
		return lease, nil
	}
	w, err := newCaller(ctx, key, options)
	if err != nil {
		return nil, notAcquired(key, err)
	}
	if w.request.Wait != nil { // apart, so that a caller without a bound needs no larger stack for it
		return c.acquireWithin(w)
	}
	return c.acquire(w)
}

func newCaller(ctx context.Context, key string, options []Option) (*caller, error) {
	request, err := NewRequest(options...)
	return &caller{ctx: ctx, waiting: ctx, key: key, request: request, ready: make(chan call, 1)}, err
}

// acquireWithin waits no longer than the request allows.
func (c *Cohort) acquireWithin(w *caller) (*Lease, error) {
	waiting, cancel := w.request.within(w.ctx)
	defer cancel()
	w.waiting = waiting
	return c.acquire(w)
}

func (c *Cohort) acquire(w *caller) (*Lease, error) {
	if w.waiting.Err() != nil {
		return nil, w.refused()
	}
	element, err := c.enter(w)
	switch {
	case err != nil:
		return nil, notAcquired(w.key, err)
	case element == nil:
		return c.compete(w)
	}
	select {
	case call := <-w.ready:
		return c.take(w, call)
	case <-w.waiting.Done():
		c.leave(w, element)
		return nil, w.refused()
	}
}

// enter puts the caller into its key's queue; nil: the queue was empty, and the caller is its head.
func (c *Cohort) enter(w *caller) (*list.Element, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[w.key]
	switch {
	case c.closed:
		return nil, errClosed
	case q == nil:
		c.queues[w.key] = &queue{busy: true}
		return nil, nil
	case !q.busy:
		q.busy = true
		return nil, nil
	case w.request.Once:
		return nil, ErrTaken
	}
	return q.PushBack(w), nil
}

// take returns the lease that was handed off to the caller. If there is none, or it was lost meanwhile, the caller competes.
func (c *Cohort) take(w *caller, call call) (*Lease, error) {
	if call.err != nil {
		return nil, call.err
	}
	if call.turn != nil {
		if lease := call.turn.lease(w.ctx); lease != nil {
			return lease, nil
		}
	}
	return c.compete(w)
}

// leave takes a caller out of its key's queue. If it became the head at the same moment, the next caller does instead.
func (c *Cohort) leave(w *caller, element *list.Element) {
	c.mu.Lock()
	select {
	case late := <-w.ready:
		c.mu.Unlock()
		switch {
		case late.turn != nil:
			_, _ = c.handOff(context.Background(), late.turn)
		case late.err == nil:
			c.next(w.key)
		}
	default:
		c.queues[w.key].Remove(element)
		c.mu.Unlock()
	}
}

// compete asks the strategy. Whatever goes wrong, also a panic, the queue gets its next head.
func (c *Cohort) compete(w *caller) (lease *Lease, err error) {
	defer func() {
		switch {
		case lease != nil:
		case errors.Is(err, ErrUnavailable):
			c.disperse(w.key, err)
		default:
			c.next(w.key)
		}
	}()
	request := w.request
	request.Wait = nil // waiting is bounded
	c.mu.Lock()
	q := c.queues[w.key]
	if !request.Once { // one attempt does not yield
		request.Others, q.others = q.others, 0
	}
	request.Tokens = uint64(min(c.bounds.Count, perCaller*(1+q.Len())))
	c.mu.Unlock()
	granted, err := c.strategy.Acquire(bare{w.waiting}, w.key, func(r *Request) { *r = request })
	if err != nil {
		c.mu.Lock()
		// This caller failed before the others went first, so the next one yields. It owes half, and one at least, which costs probeAfter:
		// callers that leave early do not keep their process from a free lock. Others that are not known (-1) are owed nothing more.
		q.others = cmp.Or(q.others, (request.Others+1)/2)
		c.mu.Unlock()
	}
	switch {
	case err != nil && w.waiting.Err() != nil:
		return nil, w.refused()
	case err != nil:
		return nil, err
	}
	t := newTurn(c, w.key, granted, w.private())
	if lease = t.lease(w.ctx); lease == nil {
		return nil, notAcquired(w.key, context.Cause(granted.Context()))
	}
	return lease, nil
}

// bare is a context without its values: a turn has several holders, each with the values of its own context.
type bare struct{ context.Context }

// Value finds nothing.
func (bare) Value(any) any { return nil }

// perCaller is how many fencing tokens a turn reserves for each caller that waits: a caller may come again in the same turn. Tokens
// are taken from the server's clock and must not outrun it. 32 tokens stand for 32 µs, and a grant takes longer than that.
const perCaller = 32

// handOff hands the lease off to the next caller, or gives the key back and lets the next caller compete.
func (c *Cohort) handOff(ctx context.Context, t *turn) (others int, err error) {
	c.mu.Lock()
	q := c.queues[t.key]
	if first := q.Front(); first != nil && !first.Value.(*caller).private() && t.mayPass(c.bounds) {
		q.Remove(first).(*caller).ready <- call{turn: t}
		c.mu.Unlock()
		runtime.Gosched() // the next holder works first, because everybody behind it waits
		return 0, nil
	}
	c.mu.Unlock()
	others, err = t.end(ctx)
	c.mu.Lock()
	q.owe(others, t, c.bounds)
	c.mu.Unlock()
	c.next(t.key)
	return others, err
}

// next lets the first caller in the queue compete.
func (c *Cohort) next(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[key]
	if first := q.Front(); first != nil {
		q.Remove(first).(*caller).ready <- call{}
		return
	}
	if q.others == 0 && q.used == (HandOff{}) {
		delete(c.queues, key)
		return
	}
	q.busy, q.idle = false, time.Now()
	time.AfterFunc(yieldWindow, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.queues[key] == q && !q.busy && time.Since(q.idle) >= yieldWindow {
			delete(c.queues, key)
		}
	})
}

// disperse ends the wait of every caller with err. The queue has no head then.
func (c *Cohort) disperse(key string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queues[key].end(err)
	delete(c.queues, key)
}

// end ends the wait of every caller.
func (q *queue) end(err error) {
	for first := q.Front(); first != nil; first = q.Front() {
		q.Remove(first).(*caller).ready <- call{err: err}
	}
}

// Waiting returns how many callers wait in all queues, the heads not counted.
func (c *Cohort) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, q := range c.queues {
		n += q.Len()
	}
	return n
}

// Close ends the wait of every caller in a queue. From now on callers get [ErrUnavailable]. Leases that are held stay held, and can be
// released. Close does not close the strategy, in which the head of a queue may wait.
func (c *Cohort) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for key, q := range c.queues {
		q.end(notAcquired(key, errClosed))
	}
}
