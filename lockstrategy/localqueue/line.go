package localqueue

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"locklab/lockstrategy"
)

// This file is the state machine of a [Queue]: the path of a caller through the line of a key, and every transition. The queue's mutex
// guards all lines and their turns. A turn is one grant and its hand-offs.
//
//	from       event                                        to         action
//	idle       a caller arrives                             competing  others go first, and it asks the strategy
//	competing  the strategy grants                          held       the caller holds, and a turn begins
//	competing  the strategy refuses or panics, or the       next       only this caller gets the error, or the panic
//	           caller leaves
//	competing  the strategy is unavailable, and the caller  idle       every caller that waits gets that error
//	           still waits
//	held       a release; a caller waits, and the turn      held       the lease is handed off to the first caller that waits
//	           may go on
//	held       another release                              releasing  the lease is given back to the strategy
//	held       the lease is lost                            next       its holder's context has ended
//	held       it is lost on its way to a caller            competing  that caller asks the strategy
//	releasing  the strategy has answered                    next       whether others go first is noted
//
// "next" is competing when a caller waits, and idle otherwise. A caller that arrives in another state than idle goes to the end of the
// line. One that leaves the line changes no state, unless it was chosen in the same moment.

// line is the callers of one key in this process. An idle line is deleted when it has nothing to remember.
type line struct {
	state   state
	callers list.List // of *caller; the first has waited longest. The caller that competes or holds is in it no more
	turn    *turn     // in stateHeld

	yielder lockstrategy.Yielder // lets other processes go first, before the next caller competes; nil: nobody waits
	since   time.Time            // the end of the last turn
	leases  int                  // since this process has let others go first
	used    time.Duration        // the time of these leases
}

// state is the state of a line.
type state int

const (
	stateIdle state = iota
	stateCompeting
	stateHeld
	stateReleasing
)

// caller is one call of Acquire. It is small, because ten thousand callers may wait (memory in docs/benchmark.md).
type caller struct {
	ctx     context.Context // the context of the lease has its values
	wait    context.Context // bounds the wait
	key     string
	request lockstrategy.Request
	options []lockstrategy.Option
	ready   chan answer // receives once
}

// answer ends the wait of a caller in the queue.
type answer struct {
	turn *turn // the lease is handed off to the caller; nil: the caller competes
	err  error // the caller gets no lease
}

// private reports whether the caller sets its own lease, or bound of renewal. It gets a new grant, and never a lease that is handed off.
func (cl *caller) private() bool { return cl.request.Expiry != nil || cl.request.RenewAtMost != nil }

// acquire is the path of a caller: it arrives and competes, or waits for its turn.
func (c *Queue) acquire(cl *caller) (*lockstrategy.Lease, error) {
	if cl.wait.Err() != nil {
		return nil, lockstrategy.NotAcquired(cl.key, lockstrategy.EndOf(cl.wait))
	}
	place, err := c.arrive(cl)
	switch {
	case err != nil:
		return nil, lockstrategy.NotAcquired(cl.key, err)
	case place == nil:
		return c.compete(cl)
	}
	select {
	case a := <-cl.ready:
		return c.take(cl, a)
	case <-cl.wait.Done():
		return nil, c.leave(cl, place)
	}
}

// take returns the lease that was handed off to the caller. If there is none, or it was lost on its way, the caller competes.
func (c *Queue) take(cl *caller, a answer) (*lockstrategy.Lease, error) {
	if a.err != nil {
		return nil, a.err
	}
	if a.turn != nil {
		if lease := c.takeOver(cl, a.turn); lease != nil {
			return lease, nil
		}
	}
	return c.compete(cl)
}

// compete asks the strategy. If that panics, the queue goes on.
func (c *Queue) compete(cl *caller) (lease *lockstrategy.Lease, err error) {
	answered := false
	defer func() {
		if !answered {
			_ = c.failed(cl, nil)
		}
	}()
	if err = c.yield(cl); err == nil {
		lease, err = c.strategy.Acquire(cl.wait, cl.key, cl.options...)
	}
	answered = true
	if err != nil {
		return nil, c.failed(cl, err)
	}
	return c.granted(cl, lease), nil
}

// yield lets other processes go first, if they wait. One attempt does not.
func (c *Queue) yield(cl *caller) error {
	c.mu.Lock()
	q := c.lines[cl.key]
	y := q.yielder
	c.mu.Unlock()
	if y == nil || cl.request.Once || time.Since(q.since) > remembered {
		return nil
	}
	y.Yield(cl.wait)
	if cl.wait.Err() != nil {
		return lockstrategy.NotAcquired(cl.key, fmt.Errorf("%w: %w", lockstrategy.EndOf(cl.wait), lockstrategy.OtherHolder{}))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	q.yielder = nil
	return nil
}

// ---- The transitions from a caller to a grant ----

// arrive puts the caller into its key's queue. nil: the queue was idle, and the caller competes.
func (c *Queue) arrive(cl *caller) (*list.Element, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, lockstrategy.ErrClosed
	}
	q := c.lines[cl.key]
	if q == nil {
		q = new(line)
		c.lines[cl.key] = q
	}
	switch {
	case q.state == stateIdle:
		q.state = stateCompeting
		return nil, nil
	case cl.request.Once:
		return nil, fmt.Errorf("%w: %w", lockstrategy.ErrTaken, lockstrategy.OtherHolder{Here: true})
	}
	return q.callers.PushBack(cl), nil
}

// leave takes a caller whose wait has ended out of the queue, and returns its error. A caller that got its turn in the same moment gives
// that back.
func (c *Queue) leave(cl *caller, place *list.Element) error {
	c.mu.Lock()
	select {
	case late := <-cl.ready:
		c.mu.Unlock()
		if late.err != nil {
			return fmt.Errorf("%w: %w", lockstrategy.EndOf(cl.wait), late.err)
		}
		c.decline(cl, late)
	default:
		c.lines[cl.key].callers.Remove(place)
		c.mu.Unlock()
	}
	return lockstrategy.NotAcquired(cl.key, fmt.Errorf("%w: %w", lockstrategy.EndOf(cl.wait), lockstrategy.OtherHolder{Here: true}))
}

// decline gives a turn back that came too late.
func (c *Queue) decline(cl *caller, late answer) {
	if late.turn != nil {
		if lease := c.takeOver(cl, late.turn); lease != nil {
			_ = lease.Release(context.Background())
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextLocked(cl.key)
}

// granted begins a turn. The caller that has competed is its first holder.
func (c *Queue) granted(cl *caller, lease *lockstrategy.Lease) *lockstrategy.Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.lines[cl.key]
	t := &turn{lease: lease, private: cl.private(), began: time.Now(), fresh: time.Until(lease.Until())}
	q.state, q.turn = stateHeld, t
	held := c.holdLocked(cl, t)
	t.unwatch = context.AfterFunc(lease.Context(), func() { c.lost(cl.key, t) })
	return held
}

// failed lets the next caller compete, and returns the error. An outage ends the wait of all callers, unless the caller's own wait was too
// short to know.
func (c *Queue) failed(cl *caller, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, lockstrategy.ErrUnavailable) && cl.wait.Err() == nil && !cl.request.Once {
		c.lines[cl.key].failAll(err)
	}
	c.nextLocked(cl.key)
	return err
}

// holdLocked makes the caller the holder.
func (c *Queue) holdLocked(cl *caller, t *turn) *lockstrategy.Lease {
	h := &holder{queue: c, key: cl.key, turn: t, token: t.lease.FencingToken()}
	if h.token > 0 {
		h.token += uint64(t.holders)
	}
	h.ctx, h.cancel = context.WithCancelCause(context.WithoutCancel(cl.ctx))
	h.ctx = context.WithValue(h.ctx, holderKey{c, cl.key}, h)
	h.entries.Store(1)
	t.holders++
	t.holder = h
	return lockstrategy.NewLease(h.ctx, h.token, h)
}

// takeOver makes the caller the holder of a lease that was handed off to it. nil: the lease was lost on its way, and the caller competes.
func (c *Queue) takeOver(cl *caller, t *turn) *lockstrategy.Lease {
	c.mu.Lock()
	if c.lines[cl.key].turn == t && t.lease.Context().Err() == nil {
		defer c.mu.Unlock()
		return c.holdLocked(cl, t)
	}
	c.mu.Unlock()
	c.lost(cl.key, t) // the watch for the loss may not have run yet
	return nil
}

// ---- The transitions from a release to the next caller ----

// release implements the release of a holder: it hands the lease off to the next caller, or gives it back.
func (c *Queue) release(ctx context.Context, h *holder) error {
	handedOff, lost := c.handOff(h)
	switch {
	case lost:
		return lockstrategy.LossOf(h.turn.lease.Context())
	case handedOff:
		runtime.Gosched() // the next holder works first, because everybody behind it waits
		return nil
	}
	defer c.released(h.key, h.turn) // deferred: a panic must not keep the queue
	return h.turn.lease.Release(ctx)
}

// handOff ends the time of a holder. It hands the lease off to the first caller that waits. Otherwise it ends the turn, and the lease must
// be released, or it was lost, perhaps in this moment.
func (c *Queue) handOff(h *holder) (handedOff, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, t := c.lines[h.key], h.turn
	if q == nil || q.turn != t {
		return false, true
	}
	t.holder = nil
	if first := q.callers.Front(); first != nil && !first.Value.(*caller).private() && t.mayPass(c.bounds) {
		q.callers.Remove(first).(*caller).ready <- answer{turn: t}
		return true, false
	}
	t.endLocked(q)
	q.state = stateReleasing
	return false, false
}

// released notes the pause after a turn whose lease was given back, and lets the next caller compete.
func (c *Queue) released(key string, t *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines[key].noteTurn(t, c.bounds)
	c.nextLocked(key)
}

// noteTurn decides whether other processes go first: after each turn where some are known to wait, and otherwise when the turns add up to
// the bounds of one, because each time costs a poll.
func (q *line) noteTurn(t *turn, bounds HandOff) {
	y, yields := t.lease.Holder().(lockstrategy.Yielder)
	if !yields {
		return
	}
	q.since, q.yielder = time.Now(), nil
	q.leases += t.holders
	q.used += time.Since(t.began)
	switch others := y.Others(); {
	case others == 0:
		q.leases, q.used = 0, 0
	case others > 0, q.leases >= bounds.Count, q.used >= bounds.Time:
		q.yielder, q.leases, q.used = y, 0, 0
	}
}

// lost ends the turn of a lease that was lost, and lets the next caller compete. If the lease is on its way to a caller, that caller
// competes.
func (c *Queue) lost(key string, t *turn) {
	c.mu.Lock()
	q := c.lines[key]
	if q == nil || q.turn != t {
		c.mu.Unlock()
		return
	}
	t.endLocked(q)
	q.state = stateCompeting
	if t.holder != nil {
		t.holder.cancel(context.Cause(t.lease.Context())) // before the next caller competes
		c.nextLocked(key)
	}
	c.mu.Unlock()
	_ = t.lease.Release(context.Background()) // a lost lease, too, is released
}

// remembered is for how long after a turn a process lets others go first.
const remembered = 100 * time.Millisecond

// nextLocked lets the first caller in the queue compete. Without one the queue is idle.
func (c *Queue) nextLocked(key string) {
	q := c.lines[key]
	if first := q.callers.Front(); first != nil {
		q.state = stateCompeting
		q.callers.Remove(first).(*caller).ready <- answer{}
		return
	}
	q.state = stateIdle
	if q.leases > 0 || q.yielder != nil {
		since := q.since
		time.AfterFunc(remembered, func() { c.forget(key, q, since) })
		return
	}
	delete(c.lines, key)
}

// forget deletes a queue that has had no turn since.
func (c *Queue) forget(key string, q *line, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lines[key] == q && q.state == stateIdle && q.since.Equal(since) {
		delete(c.lines, key)
	}
}

// failAll ends the wait of every caller in the queue.
func (q *line) failAll(err error) {
	for first := q.callers.Front(); first != nil; first = q.callers.Front() {
		q.callers.Remove(first).(*caller).ready <- answer{err: err}
	}
}
