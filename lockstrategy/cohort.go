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
// that wait go first (yield.go).
//
// A caller that acquires a key under the context of its own lease on that key enters again, without a request (holder.go). The options
// then change nothing.
//
// A cohort knows the sequence of its own process's callers only. When the strategy is unavailable, every caller in the queue gets that
// error immediately. Otherwise each of them would wait for a timeout, one after the other.
//
// [TryOnce] gets [ErrTaken] while another caller of the process holds the key or competes for it. The key may be free then, while that
// caller yields. Otherwise TryOnce asks the server, and does not yield.
//
// The queue of a key has four states. All transitions happen under one mutex:
//
//	from       event                                  to         what is done
//	idle       a caller arrives                       competing  it asks the strategy
//	competing  the strategy grants                    held       the caller holds, and a turn begins
//	competing  it refuses, or the caller leaves       next       the error is the caller's own
//	competing  it is unavailable                      idle       every caller that waits gets that error
//	held       a release within the bounds            held       the lease is handed off to the first caller that waits
//	held       another release                        releasing  the lease is given back to the strategy
//	held       the lease is lost                      next       its contexts have ended
//	held       it is lost on its way to a caller      competing  that caller asks the strategy
//	releasing  the strategy has answered              next       the debt of the yield rule is noted
//
// "next" is competing when a caller waits, and idle otherwise. In every other state a caller that arrives goes to the end of the queue. A
// caller that leaves the queue changes no state, unless its turn has just come: then it gives back what it got.
type Cohort struct {
	strategy Strategy
	bounds   HandOff

	mu     sync.Mutex
	queues map[string]*queue
	closed bool
}

// queue is the callers of one key. There is a queue while it is not idle, and for debtKept afterwards when the process has a debt.
type queue struct {
	state   state
	waiting list.List // of *caller; the first has waited longest. The caller that competes or holds is in it no more
	turn    *turn     // while it is held
	notNow  error     // why the server refuses for now what the caller that competes asks; nil: it does not
	debt    debt
	idle    time.Time // since when
}

// state is what happens to a key in this process.
type state int

const (
	idle state = iota
	competing
	held
	releasing
)

// caller is one call of Acquire. It is passed by pointer and its frames are small, because ten thousand callers may wait (memory in
// docs/benchmark.md).
type caller struct {
	ctx     context.Context // the lease has its values
	waiting context.Context // bounds the wait
	key     string
	request Request
	ready   chan answer // receives once
}

// private reports whether the caller sets its own lease, or bound of renewal. It gets a new grant, and never a lease that is handed off.
func (w *caller) private() bool { return w.request.Expiry != nil || w.request.Renew != nil }

// refused is the error of a caller whose wait has ended. after may wrap a [Holder], or is the refusal of a server.
func (w *caller) refused(after error) error {
	reason, holder := ended(w.waiting), Holder{}
	switch {
	case errors.Is(after, ErrUnavailable):
		reason = fmt.Errorf("%w: %w", reason, after)
	case errors.As(after, &holder):
		reason = fmt.Errorf("%w: %w", reason, holder)
	}
	return notAcquired(w.key, reason)
}

// answer ends a caller's wait.
type answer struct {
	turn *turn // whose lease is handed off; nil: the caller competes
	err  error // why the caller gets none
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
	return &caller{ctx: ctx, waiting: ctx, key: key, request: request, ready: make(chan answer, 1)}, err
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
		return nil, w.refused(nil)
	}
	element, err := c.arrive(w)
	switch {
	case err != nil:
		return nil, notAcquired(w.key, err)
	case element == nil:
		return c.compete(w)
	}
	select {
	case a := <-w.ready:
		return c.take(w, a)
	case <-w.waiting.Done():
		return nil, w.refused(cmp.Or(c.leave(w, element), error(Holder{Here: true})))
	}
}

// compete asks the strategy. Whatever goes wrong, also a panic, the queue goes on.
func (c *Cohort) compete(w *caller) (lease *Lease, err error) {
	request := w.request
	request.Wait = nil // waiting is bounded
	request.NotNow = func(err error) { c.refusedForNow(w.key, err) }
	if !request.Once { // one attempt does not yield
		request.Yield = c.takeDebt(w.key)
	}
	defer func() {
		if lease == nil {
			c.failed(w, request.Yield, err)
		}
	}()
	granted, err := c.strategy.Acquire(bare{w.waiting}, w.key, func(r *Request) { *r = request })
	switch {
	case err == nil:
		return c.granted(w, granted), nil
	case w.waiting.Err() != nil && !errors.Is(err, ErrUnavailable): // which says more than that the wait is over
		err = w.refused(cmp.Or(c.notNow(w.key), err))
	}
	return nil, err
}

// bare is a context without its values: a turn has several holders, each with the values of its own context.
type bare struct{ context.Context }

// Value finds nothing.
func (bare) Value(any) any { return nil }

// take returns the lease that was handed off to the caller. If there is none, or it was lost meanwhile, the caller competes.
func (c *Cohort) take(w *caller, a answer) (*Lease, error) {
	if a.err != nil {
		return nil, a.err
	}
	if a.turn != nil {
		if lease := c.takeOver(w, a.turn); lease != nil {
			return lease, nil
		}
	}
	return c.compete(w)
}

// ---- Transitions ----

// arrive puts the caller into its key's queue; nil: the queue was idle, and the caller competes.
func (c *Cohort) arrive(w *caller) (*list.Element, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	q := c.queues[w.key]
	if q == nil {
		q = new(queue)
		c.queues[w.key] = q
	}
	switch {
	case q.state == idle:
		q.state = competing
		return nil, nil
	case w.request.Once:
		return nil, fmt.Errorf("%w: %w", ErrTaken, Holder{Here: true})
	}
	return q.waiting.PushBack(w), nil
}

// refusedForNow notes why the server refuses for now what the caller that competes asks; nil: it does not.
func (c *Cohort) refusedForNow(key string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.queues[key]; q != nil {
		q.notNow = err
	}
}

func (c *Cohort) notNow(key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.queues[key]; q != nil {
		return q.notNow
	}
	return nil
}

// leave takes a caller out of the queue, and returns why the server refuses for now to execute anything, if it does. If its wait ended at
// the same moment, the caller gives back what it got.
func (c *Cohort) leave(w *caller, element *list.Element) (notNow error) {
	c.mu.Lock()
	if q := c.queues[w.key]; q != nil {
		notNow = q.notNow
	}
	select {
	case late := <-w.ready:
		c.mu.Unlock()
		switch {
		case late.turn != nil:
			if lease := c.takeOver(w, late.turn); lease != nil {
				_ = lease.Release(context.Background())
				return nil
			}
			c.failed(w, 0, nil)
		case late.err == nil:
			c.failed(w, 0, nil)
		}
	default:
		c.queues[w.key].waiting.Remove(element)
		c.mu.Unlock()
	}
	return notNow
}

// granted begins a turn, with the caller that has competed as its first holder.
func (c *Cohort) granted(w *caller, granted *Lease) *Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[w.key]
	t := &turn{granted: granted, private: w.private(), began: time.Now(), fresh: time.Until(granted.Until())}
	q.state, q.turn, q.notNow = held, t, nil
	lease := c.holdLocked(w, t)
	t.forget = context.AfterFunc(granted.Context(), func() { c.lost(w.key, t) })
	return lease
}

// holdLocked makes the caller the holder.
func (c *Cohort) holdLocked(w *caller, t *turn) *Lease {
	h := &holder{cohort: c, key: w.key, turn: t, token: t.granted.FencingToken()}
	if h.token > 0 {
		h.token += uint64(t.holders)
	}
	h.ctx, h.cancel = context.WithCancelCause(t.granted.Context()) // a loss ends it before the next caller competes
	h.entries.Store(1)
	t.holders++
	t.holder = h
	return h.lease(w.ctx)
}

// takeOver makes the caller the holder of a lease that was handed off to it. nil: the lease was lost on its way, and the caller competes.
func (c *Cohort) takeOver(w *caller, t *turn) *Lease {
	c.mu.Lock()
	q := c.queues[w.key]
	current := q.turn == t
	if current && t.granted.Context().Err() == nil {
		defer c.mu.Unlock()
		return c.holdLocked(w, t)
	}
	if current { // this caller learns of the loss before lost is called
		t.endLocked(q)
		q.state = competing
	}
	c.mu.Unlock()
	if current {
		_ = t.granted.Release(context.Background())
	}
	return nil
}

// failed lets the next caller compete, after one that has failed and gives back what it owes. If the strategy is unavailable no caller
// waits for it.
func (c *Cohort) failed(w *caller, owed int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[w.key]
	q.debt.giveBack(owed)
	if errors.Is(err, ErrUnavailable) && w.waiting.Err() == nil { // otherwise only this caller's wait is over, whatever the server does
		q.end(err)
		delete(c.queues, w.key)
		return
	}
	c.nextLocked(w.key)
}

// release ends the time of a holder: it hands the lease off to the next caller, or gives it back.
func (c *Cohort) release(ctx context.Context, h *holder) (listeners int, err error) {
	c.mu.Lock()
	q, t := c.queues[h.key], h.turn
	if q == nil || q.turn != t { // it was lost, perhaps while it is released
		c.mu.Unlock()
		return 0, loss(t.granted.Context())
	}
	t.holder = nil
	if first := q.waiting.Front(); first != nil && !first.Value.(*caller).private() && t.mayPass(c.bounds) {
		q.waiting.Remove(first).(*caller).ready <- answer{turn: t}
		c.mu.Unlock()
		runtime.Gosched() // the next holder works first, because everybody behind it waits
		return 0, nil
	}
	t.endLocked(q)
	q.state = releasing
	c.mu.Unlock()
	err = t.granted.Release(ctx)
	listeners = t.granted.Listeners()
	c.mu.Lock()
	defer c.mu.Unlock()
	q.debt.add(listeners, HandOff{t.holders, time.Since(t.began)}, c.bounds)
	c.nextLocked(h.key)
	return listeners, err
}

// endLocked ends a turn, before its lease is given back or because it was lost.
func (t *turn) endLocked(q *queue) {
	t.forget()
	q.turn = nil
}

// lost ends the turn of a lease that was lost. If it is on its way to a caller, that caller finds out, and competes.
func (c *Cohort) lost(key string, t *turn) {
	c.mu.Lock()
	q := c.queues[key]
	if q == nil || q.turn != t {
		c.mu.Unlock()
		return
	}
	h := t.holder
	t.endLocked(q)
	q.state = competing
	if h != nil {
		c.nextLocked(key)
	}
	c.mu.Unlock()
	_ = t.granted.Release(context.Background()) // a lost lease, too, is released
}

// nextLocked lets the first caller in the queue compete.
func (c *Cohort) nextLocked(key string) {
	q := c.queues[key]
	if first := q.waiting.Front(); first != nil {
		q.state = competing
		q.waiting.Remove(first).(*caller).ready <- answer{}
		return
	}
	q.state, q.idle = idle, time.Now()
	if q.debt.none() {
		delete(c.queues, key)
		return
	}
	time.AfterFunc(debtKept, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.queues[key] == q && q.state == idle && time.Since(q.idle) >= debtKept {
			delete(c.queues, key)
		}
	})
}

func (c *Cohort) takeDebt(key string) (releases int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queues[key].debt.take()
}

// end ends the wait of every caller.
func (q *queue) end(err error) {
	for first := q.waiting.Front(); first != nil; first = q.waiting.Front() {
		q.waiting.Remove(first).(*caller).ready <- answer{err: err}
	}
}

// Waiting returns how many callers wait in all queues. A caller that competes or holds is not counted.
func (c *Cohort) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, q := range c.queues {
		n += q.waiting.Len()
	}
	return n
}

// Close ends the wait of every caller in a queue. From now on callers get [ErrUnavailable]. Leases that are held stay held, and can be
// released. Close does not close the strategy, which a caller may be asking.
func (c *Cohort) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for key, q := range c.queues {
		q.end(notAcquired(key, errClosed))
	}
}
