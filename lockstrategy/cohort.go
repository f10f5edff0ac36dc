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
// error immediately: one after the other they would wait too long.
type Cohort struct {
	strategy   Strategy
	bounds     HandOff
	background sync.WaitGroup

	mu     sync.Mutex
	queues map[string]*queue
	closed bool
}

// queue is the callers that wait for one key. There is one while a caller has its turn, and for debtKept after it.
type queue struct {
	list.List           // of *caller, in the order of their arrival
	busy      bool      // a caller has its turn: it holds the key or competes for it
	others    int       // processes that the next caller lets go first: see Lease.Others
	idle      time.Time // when the last turn ended
}

// caller waits in a queue.
type caller struct {
	called  chan call // receives once
	private bool      // takes no lease that is handed off
}

// private reports whether a caller takes no lease that was granted to another: it asks for terms of its own.
func (r Request) private() bool { return r.Lease != nil || r.Renew != nil }

// call tells a caller that its turn has come.
type call struct {
	turn *turn // whose lease is handed off; nil: the caller competes
	err  error // the turn does not come: the wait has ended
}

// debtKept is for how long a process that has had its turn lets others go first (row 8 × 1 of docs/benchmark.md).
const debtKept = 100 * time.Millisecond

// HandOff bounds how long a process may keep a key among its own callers before other processes get their turn. Zero fields mean
// the defaults (row sustained of docs/benchmark.md). They are looked at when a lease is released: a holder that keeps it longer is not
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

// Acquire waits for the caller's turn in key's queue, then takes the lease that is handed off to it, or competes.
func (c *Cohort) Acquire(ctx context.Context, key string, options ...Option) (*Lease, error) {
	if lease := c.enterAgain(ctx, key); lease != nil {
		return lease, nil
	}
	request, err := NewRequest(options...)
	if err != nil {
		return nil, notAcquired(key, err)
	}
	waiting, cancel := request.within(ctx)
	defer cancel()
	return c.acquire(ctx, waiting, key, request)
}

// acquire waits no longer than waiting. Ten thousand callers may be in it: its frame is small.
func (c *Cohort) acquire(ctx, waiting context.Context, key string, request Request) (*Lease, error) {
	if waiting.Err() != nil {
		return nil, notAcquired(key, ended(waiting))
	}
	place, err := c.enter(key, request)
	switch {
	case err != nil:
		return nil, notAcquired(key, err)
	case place == nil:
		return c.compete(ctx, waiting, key, request)
	}
	select {
	case call := <-place.Value.(*caller).called:
		return c.take(ctx, waiting, key, request, call)
	case <-waiting.Done():
		c.leave(key, place)
		return nil, notAcquired(key, ended(waiting))
	}
}

// enter puts the caller into key's queue; nil: nobody is there, and the caller has the turn. It must then be passed on.
func (c *Cohort) enter(key string, request Request) (*list.Element, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[key]
	switch {
	case c.closed:
		return nil, errClosed
	case q == nil:
		c.queues[key] = &queue{busy: true}
		return nil, nil
	case !q.busy:
		q.busy = true
		return nil, nil
	case request.Once:
		return nil, ErrTaken
	}
	return q.PushBack(&caller{called: make(chan call, 1), private: request.private()}), nil
}

// take takes the turn that a caller was called for. A lease may be lost on its way; the turn is not.
func (c *Cohort) take(ctx, waiting context.Context, key string, request Request, call call) (*Lease, error) {
	if call.err != nil {
		return nil, call.err
	}
	if call.turn != nil {
		if lease := call.turn.lease(ctx); lease != nil {
			return lease, nil
		}
	}
	return c.compete(ctx, waiting, key, request)
}

// leave takes a caller out of key's queue. If its turn came at the same moment, it is passed on.
func (c *Cohort) leave(key string, place *list.Element) {
	c.mu.Lock()
	select {
	case late := <-place.Value.(*caller).called:
		pass := func() { _, _ = c.handOff(context.Background(), late.turn) }
		closed := c.closed
		if late.turn != nil && !closed {
			c.background.Go(pass) // the caller does not wait for it
		}
		c.mu.Unlock()
		switch {
		case late.turn != nil && closed: // Close does not wait any more
			pass()
		case late.turn == nil && late.err == nil:
			c.next(key)
		}
	default:
		c.queues[key].Remove(place)
		c.mu.Unlock()
	}
}

// compete asks the strategy. Whatever goes wrong, also a panic, the turn is passed on.
func (c *Cohort) compete(ctx, waiting context.Context, key string, request Request) (lease *Lease, err error) {
	defer func() {
		switch {
		case lease != nil:
		case errors.Is(err, ErrUnavailable):
			c.disperse(key, err)
		default:
			c.next(key)
		}
	}()
	request.Wait = nil // waiting is bounded
	c.mu.Lock()
	q := c.queues[key]
	if !request.Once { // one attempt is no turn, and lets nobody go first
		request.Others, q.others = q.others, 0
	}
	request.Tokens = uint64(min(c.bounds.Count, perCaller*(1+q.Len())))
	c.mu.Unlock()
	granted, err := c.strategy.Acquire(bare{waiting}, key, func(r *Request) { *r = request })
	switch {
	case err != nil && waiting.Err() != nil:
		return nil, notAcquired(key, ended(waiting))
	case err != nil:
		return nil, err
	}
	t := newTurn(c, key, granted, request.private())
	if lease = t.lease(ctx); lease == nil {
		return nil, notAcquired(key, context.Cause(granted.Context()))
	}
	return lease, nil
}

// bare is a context without its values: a turn has several holders, each with the values of its own context.
type bare struct{ context.Context }

// Value finds nothing.
func (bare) Value(any) any { return nil }

// perCaller is how many fencing tokens a turn reserves for each caller that waits: a caller may come again in the same turn. Tokens
// are taken from the server's clock and must not outrun it. A grant takes longer than the 32 microseconds that these numbers stand for.
const perCaller = 32

// handOff hands the lease off to the next caller, or gives the key back and the turn to the next caller.
func (c *Cohort) handOff(ctx context.Context, t *turn) (others int, err error) {
	c.mu.Lock()
	q := c.queues[t.key]
	if first := q.Front(); first != nil && !first.Value.(*caller).private && t.mayPass(c.bounds) {
		q.Remove(first).(*caller).called <- call{turn: t}
		c.mu.Unlock()
		runtime.Gosched() // the next holder works first, because everybody behind it waits
		return 0, nil
	}
	c.mu.Unlock()
	others, err = t.end(ctx)
	c.mu.Lock()
	q.others = others
	c.mu.Unlock()
	c.next(t.key)
	return others, err
}

// next gives the turn to the first caller in the queue.
func (c *Cohort) next(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[key]
	if first := q.Front(); first != nil {
		q.Remove(first).(*caller).called <- call{}
		return
	}
	q.busy, q.idle = false, time.Now()
	forget := func() {
		if !q.busy && c.queues[key] == q && (q.others == 0 || time.Since(q.idle) >= debtKept) {
			delete(c.queues, key)
		}
	}
	if q.others == 0 {
		forget()
		return
	}
	time.AfterFunc(debtKept, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		forget()
	})
}

// disperse ends the turn, and the wait of every caller behind it, with err.
func (c *Cohort) disperse(key string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queues[key].end(err)
	delete(c.queues, key)
}

// end ends the wait of every caller.
func (q *queue) end(err error) {
	for first := q.Front(); first != nil; first = q.Front() {
		q.Remove(first).(*caller).called <- call{err: err}
	}
}

// Waiting returns how many callers wait in all queues, those that have their turn not counted.
func (c *Cohort) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, q := range c.queues {
		n += q.Len()
	}
	return n
}

// Close ends the wait of every caller, and waits for what the cohort does in the background. From now on callers get
// [ErrUnavailable]. Leases that are held stay held, and can be released. Close does not close the strategy.
func (c *Cohort) Close() {
	c.mu.Lock()
	c.closed = true
	for _, q := range c.queues {
		q.end(errClosed)
	}
	c.mu.Unlock()
	c.background.Wait()
}
