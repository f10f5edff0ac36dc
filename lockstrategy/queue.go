package lockstrategy

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"locklab/internal/replies"
)

// This file is the state machine of a [Cohort]: the path of a caller through the queue of a key, and every transition. The package
// documentation has a table of the transitions. The cohort's mutex guards all queues, their turns and their debts.

// queue is the callers of one key in this process. An idle queue is deleted when no debt is kept.
type queue struct {
	state   state
	callers list.List // of *caller; the first has waited longest. The caller that competes or holds is in it no more
	turn    *turn     // in stateHeld
	failing error     // of the last try of the caller that competes; nil: the server executed it
	debt    debt
}

// state is the state of a queue.
type state int

const (
	stateIdle state = iota
	stateCompeting
	stateHeld
	stateReleasing
)

// turn is the time for which a process has a key. It is one lease of the strategy, which goes from one holder to the next.
type turn struct {
	lease   *Lease
	private bool // granted with [LeaseFor] or [RenewAtMost]: never handed off
	began   time.Time
	fresh   time.Duration // the time of the lease that was left at its grant
	unwatch func() bool   // stops the watch for its loss
	holders int           // so far
	holder  *holder       // nil: the lease is on its way to the next one
}

// mayPass reports whether the lease may be handed off. With less than half of its time left it is released instead.
func (t *turn) mayPass(bounds HandOff) bool {
	end := t.lease.Until()
	within := t.holders < bounds.Count && time.Since(t.began) < bounds.Time
	numbered := t.lease.token == 0 || t.holders < 1<<tokenBits
	sound := t.lease.Context().Err() == nil && (end.IsZero() || time.Until(end) > t.fresh/2)
	return within && numbered && sound && !t.private
}

// holder is one caller's time with the lock, however often the caller has entered.
type holder struct {
	cohort  *Cohort
	key     string
	turn    *turn
	token   uint64
	ctx     context.Context
	cancel  context.CancelCauseFunc
	entries atomic.Int32 // leases that are not released; at zero the holder gives the lock up
}

// lease is one entry of the holder.
func (h *holder) lease(ctx context.Context) *Lease {
	return &Lease{ctx: &heldContext{h.ctx, ctx, h}, token: h.token, origin: h}
}

// until implements origin.
func (h *holder) until() time.Time { return h.turn.lease.Until() }

// release implements origin. The release of the last entry gives the lock up.
func (h *holder) release(ctx context.Context) (listeners int, err error) {
	if h.entries.Add(-1) > 0 {
		return 0, loss(h.ctx)
	}
	h.cancel(nil) // nobody may rely on it from here on, whatever the server will say
	return h.cohort.release(ctx, h)
}

// answer ends the wait of a caller in the queue.
type answer struct {
	turn *turn // the lease is handed off to the caller; nil: the caller competes
	err  error // the caller gets no lease
}

// acquire is the path of a caller: it arrives and competes, or waits for its turn.
func (c *Cohort) acquire(cl *caller) (*Lease, error) {
	if cl.waitCtx.Err() != nil {
		return nil, cl.waitEnded(nil)
	}
	place, err := c.arrive(cl)
	switch {
	case err != nil:
		return nil, notAcquired(cl.key, err)
	case place == nil:
		return c.compete(cl)
	}
	select {
	case a := <-cl.ready:
		return c.take(cl, a)
	case <-cl.waitCtx.Done():
		return nil, c.leave(cl, place)
	}
}

// take returns the lease that was handed off to the caller. If there is none, or it was lost on its way, the caller competes.
func (c *Cohort) take(cl *caller, a answer) (*Lease, error) {
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
func (c *Cohort) compete(cl *caller) (*Lease, error) {
	request := cl.request
	request.Wait = nil // waitCtx bounds it
	request.Tried = func(err error) { c.tried(cl.key, err) }
	if !request.Once { // one attempt does not yield, and leaves the debt to the next caller
		request.Yield = c.takeDebt(cl.key)
	}
	done := false
	defer func() {
		if !done {
			_ = c.failed(cl, request.Yield, nil)
		}
	}()
	lease, err := c.strategy.Acquire(bare{cl.waitCtx}, cl.key, request.option())
	if err == nil {
		lease = c.granted(cl, lease)
	} else {
		lease, err = nil, c.failed(cl, request.Yield, err)
	}
	done = true
	return lease, err
}

// ---- The transitions from a caller to a grant ----

// arrive puts the caller into its key's queue. nil: the queue was idle, and the caller competes.
func (c *Cohort) arrive(cl *caller) (*list.Element, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	q := c.queues[cl.key]
	if q == nil {
		q = new(queue)
		c.queues[cl.key] = q
	}
	switch {
	case q.state == stateIdle:
		q.state = stateCompeting
		return nil, nil
	case cl.request.Once:
		return nil, fmt.Errorf("%w: %w", ErrTaken, OtherHolder{Here: true})
	}
	return q.callers.PushBack(cl), nil
}

// leave takes a caller whose wait has ended out of the queue, and returns its error. A caller that got its turn in the same moment gives
// that back.
func (c *Cohort) leave(cl *caller, place *list.Element) error {
	reason := c.failing(cl.key)
	c.mu.Lock()
	select {
	case late := <-cl.ready:
		c.mu.Unlock()
		reason = cmp.Or(late.err, reason)
		c.decline(cl, late)
	default:
		c.queues[cl.key].callers.Remove(place)
		c.mu.Unlock()
	}
	return cl.waitEnded(cmp.Or(reason, error(OtherHolder{Here: true})))
}

// decline gives a turn back that came too late.
func (c *Cohort) decline(cl *caller, late answer) {
	if late.err != nil {
		return
	}
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

// takeDebt takes the debt of the process for the caller that competes.
func (c *Cohort) takeDebt(key string) (releases int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queues[key].debt.take()
}

// tried notes the error of the last try; nil: the server executed it.
func (c *Cohort) tried(key string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.queues[key]; q != nil {
		q.failing = err
	}
}

// failing is the error of the last try; nil: the server executed it.
func (c *Cohort) failing(key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.queues[key]; q != nil {
		return q.failing
	}
	return nil
}

// granted begins a turn. The caller that has competed is its first holder.
func (c *Cohort) granted(cl *caller, lease *Lease) *Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[cl.key]
	t := &turn{lease: lease, private: cl.private(), began: time.Now(), fresh: time.Until(lease.Until())}
	q.state, q.turn = stateHeld, t
	held := c.holdLocked(cl, t)
	t.unwatch = context.AfterFunc(lease.Context(), func() { c.lost(cl.key, t) })
	return held
}

// failed lets the next caller compete, and returns the error of the one that has failed. owed is the debt that it had taken. An outage ends
// the wait of all callers. Two errors are none: the end of the caller's own wait, and a refusal for now, which ends only one attempt.
func (c *Cohort) failed(cl *caller, owed int, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, over := c.queues[cl.key], cl.waitCtx.Err() != nil
	q.debt.giveBack(owed)
	switch outage := errors.Is(err, ErrUnavailable); {
	case outage && !over && !replies.NotNow(err):
		q.failAll(err)
		delete(c.queues, cl.key)
		return err
	case over && !outage: // an outage says more than the end of the wait
		err = cl.waitEnded(cmp.Or(q.failing, err))
	}
	c.nextLocked(cl.key)
	return err
}

// holdLocked makes the caller the holder.
func (c *Cohort) holdLocked(cl *caller, t *turn) *Lease {
	h := &holder{cohort: c, key: cl.key, turn: t, token: t.lease.FencingToken()}
	if h.token > 0 {
		h.token += uint64(t.holders)
	}
	h.ctx, h.cancel = context.WithCancelCause(t.lease.Context()) // a loss ends it before the next caller competes
	h.entries.Store(1)
	t.holders++
	t.holder = h
	return h.lease(cl.ctx)
}

// takeOver makes the caller the holder of a lease that was handed off to it. nil: the lease was lost on its way, and the caller competes.
func (c *Cohort) takeOver(cl *caller, t *turn) *Lease {
	c.mu.Lock()
	if c.queues[cl.key].turn == t && t.lease.Context().Err() == nil {
		defer c.mu.Unlock()
		return c.holdLocked(cl, t)
	}
	c.mu.Unlock()
	c.lost(cl.key, t) // the watch for the loss may not have run yet
	return nil
}

// ---- The transitions from a release to the next caller ----

// release implements the release of a holder: it hands the lease off to the next caller, or gives it back.
func (c *Cohort) release(ctx context.Context, h *holder) (listeners int, err error) {
	handedOff, lost := c.handOff(h)
	switch {
	case lost:
		return 0, loss(h.turn.lease.Context())
	case handedOff:
		runtime.Gosched() // the next holder works first, because everybody behind it waits
		return 0, nil
	}
	defer func() { c.released(h.key, h.turn, listeners) }() // deferred: a panic must not keep the queue
	return h.turn.lease.release(ctx)
}

// handOff ends the time of a holder. It hands the lease off to the first caller that waits. Otherwise it ends the turn, and the lease must
// be released, or it was lost, perhaps in this moment.
func (c *Cohort) handOff(h *holder) (handedOff, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, t := c.queues[h.key], h.turn
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

// released notes the debt of a turn whose lease was released, and lets the next caller compete.
func (c *Cohort) released(key string, t *turn, listeners int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queues[key].debt.turnEnded(listeners, t.holders, time.Since(t.began), c.bounds)
	c.nextLocked(key)
}

// lost ends the turn of a lease that was lost, and lets the next caller compete. If the lease is on its way to a caller, that caller
// competes.
func (c *Cohort) lost(key string, t *turn) {
	c.mu.Lock()
	q := c.queues[key]
	if q == nil || q.turn != t {
		c.mu.Unlock()
		return
	}
	t.endLocked(q)
	q.state = stateCompeting
	if t.holder != nil {
		c.nextLocked(key)
	}
	c.mu.Unlock()
	_ = t.lease.Release(context.Background()) // a lost lease, too, is released
}

// endLocked ends a turn, before its lease is released or because it was lost.
func (t *turn) endLocked(q *queue) {
	t.unwatch()
	q.turn = nil
}

// nextLocked lets the first caller in the queue compete. Without one the queue is idle.
func (c *Cohort) nextLocked(key string) {
	q := c.queues[key]
	if first := q.callers.Front(); first != nil {
		q.state = stateCompeting
		q.callers.Remove(first).(*caller).ready <- answer{}
		return
	}
	q.state, q.failing = stateIdle, nil
	if kept := q.debt.keptFor(); kept > 0 {
		time.AfterFunc(kept, func() { c.forget(key, q) })
		return
	}
	delete(c.queues, key)
}

// forget deletes a queue that is still idle, when no debt is kept any more.
func (c *Cohort) forget(key string, q *queue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queues[key] == q && q.state == stateIdle && q.debt.keptFor() == 0 {
		delete(c.queues, key)
	}
}

// failAll ends the wait of every caller in the queue.
func (q *queue) failAll(err error) {
	for first := q.callers.Front(); first != nil; first = q.callers.Front() {
		q.callers.Remove(first).(*caller).ready <- answer{err: err}
	}
}
