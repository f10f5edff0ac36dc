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
// guards all lines and their turns. A turn is the process's time with a key: one grant and its hand-offs.
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
//	held       any other release                            releasing  the lease is given back to the strategy
//	held       the lease is lost                            next       its holder's context has ended
//	held       it is lost on its way to a caller            competing  that caller asks the strategy
//	releasing  the strategy has answered                    next       whether others go first is noted
//
// "next" is competing when a caller waits, and idle otherwise. A caller that arrives in another state than idle goes to the end of the
// line. One that leaves the line changes no state, unless it was called in the same moment.

// line is the callers of one key in this process. An idle line is deleted when it has nothing to remember.
type line struct {
	state   state
	callers list.List // of *caller; the first has waited longest. The caller that competes or holds has left it
	turn    *turn     // in stateHeld

	yielder lockstrategy.Yielder // if set, it lets other processes go first, before the next caller competes
	since   time.Time            // the end of the last turn
	leases  int                  // held since this process last let others go first
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

// caller is one call of Acquire. It is small, because ten thousand callers may wait.
type caller struct {
	ctx     context.Context // the context of the lease has its values
	wait    context.Context // bounds the wait
	key     string
	request lockstrategy.Request
	options []lockstrategy.Option
	ready   chan answer // receives once
}

// answer ends the wait of a caller in the line.
type answer struct {
	turn *turn // handed off to the caller; without it, the caller competes
	err  error // the caller gets no lease
}

// private reports whether the caller sets its own lease, or bound of renewal. It gets a new grant, and never a lease that is handed off.
func (cl *caller) private() bool { return cl.request.Expiry != nil || cl.request.RenewAtMost != nil }

// acquire is the path of a caller: it arrives and competes, or waits until it is called.
func (q *Queue) acquire(cl *caller) (*lockstrategy.Lease, error) {
	if cl.wait.Err() != nil {
		return nil, lockstrategy.NotAcquired(cl.key, lockstrategy.EndOf(cl.wait))
	}
	place, err := q.arrive(cl)
	switch {
	case err != nil:
		return nil, lockstrategy.NotAcquired(cl.key, err)
	case place == nil:
		return q.compete(cl)
	}
	select {
	case a := <-cl.ready:
		return q.take(cl, a)
	case <-cl.wait.Done():
		return nil, q.leave(cl, place)
	}
}

// take returns the lease that was handed off to the caller. If there is none, or it was lost on its way, the caller competes.
func (q *Queue) take(cl *caller, a answer) (*lockstrategy.Lease, error) {
	if a.err != nil {
		return nil, a.err
	}
	if a.turn != nil {
		if lease := q.takeOver(cl, a.turn); lease != nil {
			return lease, nil
		}
	}
	return q.compete(cl)
}

// compete asks the strategy. If that panics, the line goes on.
func (q *Queue) compete(cl *caller) (lease *lockstrategy.Lease, err error) {
	answered := false
	defer func() {
		if !answered {
			_ = q.failed(cl, nil)
		}
	}()
	if err = q.yield(cl); err == nil {
		lease, err = q.strategy.Acquire(cl.wait, cl.key, cl.options...)
	}
	answered = true
	if err != nil {
		return nil, q.failed(cl, err)
	}
	return q.granted(cl, lease), nil
}

// yield lets other processes go first, if they wait. One attempt does not. Half of the caller's wait is left to ask the server.
func (q *Queue) yield(cl *caller) error {
	q.mu.Lock()
	l := q.lines[cl.key]
	y := l.yielder
	q.mu.Unlock()
	if y == nil || cl.request.Once || time.Since(l.since) > remembered {
		return nil
	}
	wait := cl.wait
	if end, bounded := wait.Deadline(); bounded {
		var cancel context.CancelFunc
		wait, cancel = context.WithDeadline(wait, time.Now().Add(time.Until(end)/2))
		defer cancel()
	}
	y.Yield(wait)
	if cl.wait.Err() != nil {
		return lockstrategy.NotAcquired(cl.key, fmt.Errorf("%w: %w", lockstrategy.EndOf(cl.wait), lockstrategy.OtherHolder{}))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	l.yielder = nil
	return nil
}

// ---- The transitions from a caller to a grant ----

// arrive puts the caller into its key's line. It returns nil if the line was idle: then the caller competes.
func (q *Queue) arrive(cl *caller) (*list.Element, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, lockstrategy.ErrClosed
	}
	l := q.lines[cl.key]
	if l == nil {
		l = new(line)
		q.lines[cl.key] = l
	}
	switch {
	case l.state == stateIdle:
		l.state = stateCompeting
		return nil, nil
	case cl.request.Once:
		return nil, fmt.Errorf("%w: %w", lockstrategy.ErrTaken, lockstrategy.OtherHolder{Here: true})
	}
	return l.callers.PushBack(cl), nil
}

// leave takes a caller whose wait has ended out of the line, and returns its error. A caller that was called in the same moment passes
// that on.
func (q *Queue) leave(cl *caller, place *list.Element) error {
	q.mu.Lock()
	select {
	case late := <-cl.ready:
		q.mu.Unlock()
		if late.err != nil {
			return fmt.Errorf("%w: %w", lockstrategy.EndOf(cl.wait), late.err)
		}
		q.decline(cl, late)
	default:
		q.lines[cl.key].callers.Remove(place)
		q.mu.Unlock()
	}
	return lockstrategy.NotAcquired(cl.key, fmt.Errorf("%w: %w", lockstrategy.EndOf(cl.wait), lockstrategy.OtherHolder{Here: true}))
}

// decline passes on what a caller was given too late.
func (q *Queue) decline(cl *caller, late answer) {
	if late.turn != nil {
		if lease := q.takeOver(cl, late.turn); lease != nil {
			_ = lease.Release(context.Background())
			return
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nextLocked(cl.key)
}

// granted begins a turn. The caller that has competed is its first holder.
func (q *Queue) granted(cl *caller, lease *lockstrategy.Lease) *lockstrategy.Lease {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[cl.key]
	t := &turn{lease: lease, private: cl.private(), began: time.Now(), fresh: time.Until(lease.Until())}
	l.state, l.turn = stateHeld, t
	held := q.holdLocked(cl, t)
	t.unwatch = context.AfterFunc(lease.Context(), func() { q.lost(cl.key, t) })
	return held
}

// failed lets the next caller compete, and returns the error. An outage ends the wait of all callers, unless the caller's own wait was too
// short to know.
func (q *Queue) failed(cl *caller, err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if errors.Is(err, lockstrategy.ErrUnavailable) && cl.wait.Err() == nil && !cl.request.Once {
		q.lines[cl.key].failAll(err)
	}
	q.nextLocked(cl.key)
	return err
}

// holdLocked makes the caller the holder.
func (q *Queue) holdLocked(cl *caller, t *turn) *lockstrategy.Lease {
	h := &holder{queue: q, key: cl.key, turn: t, token: t.lease.FencingToken()}
	if h.token > 0 {
		h.token += uint64(t.holders)
	}
	h.ctx, h.cancel = context.WithCancelCause(context.WithoutCancel(cl.ctx))
	h.ctx = context.WithValue(h.ctx, holderKey{q, cl.key}, h)
	h.entries.Store(1)
	t.holders++
	t.holder = h
	return lockstrategy.NewLease(h.ctx, h.token, h)
}

// takeOver makes the caller the holder of a lease that was handed off to it. nil: the lease was lost on its way, and the caller competes.
func (q *Queue) takeOver(cl *caller, t *turn) *lockstrategy.Lease {
	q.mu.Lock()
	if q.lines[cl.key].turn == t && t.lease.Context().Err() == nil {
		defer q.mu.Unlock()
		return q.holdLocked(cl, t)
	}
	q.mu.Unlock()
	q.lost(cl.key, t) // the watch for the loss may not have run yet
	return nil
}

// ---- The transitions from a release to the next caller ----

// release implements the release of a holder: it hands the lease off to the next caller, or gives it back.
func (q *Queue) release(ctx context.Context, h *holder) error {
	handedOff, lost := q.handOff(h)
	switch {
	case lost:
		return lockstrategy.LossOf(h.turn.lease.Context())
	case handedOff:
		runtime.Gosched() // the next holder works first, because everybody behind it waits
		return nil
	}
	defer q.released(h.key, h.turn) // deferred: a panic must not stop the line
	return h.turn.lease.Release(ctx)
}

// handOff ends the time of a holder. It hands the lease off to the first caller that waits. Otherwise it ends the turn, and the lease must
// be released, or it was lost, perhaps in this moment.
func (q *Queue) handOff(h *holder) (handedOff, lost bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, t := q.lines[h.key], h.turn
	if l == nil || l.turn != t {
		return false, true
	}
	t.holder = nil
	if first := l.callers.Front(); first != nil && !first.Value.(*caller).private() && t.mayPass(q.bounds) {
		l.callers.Remove(first).(*caller).ready <- answer{turn: t}
		return true, false
	}
	t.endLocked(l)
	l.state = stateReleasing
	return false, false
}

// released decides, after a lease was given back, whether other processes go first. It lets the next caller compete.
func (q *Queue) released(key string, t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lines[key].noteTurn(t, q.bounds)
	q.nextLocked(key)
}

// noteTurn decides whether other processes go first. If some are known to wait: after each turn. If their number is unknown: when this
// process has used HandOff.Count leases or HandOff.Time since it last let others go first, because that costs more than a poll interval.
func (l *line) noteTurn(t *turn, bounds HandOff) {
	y, yields := t.lease.Holder().(lockstrategy.Yielder)
	if !yields {
		return
	}
	l.since, l.yielder = time.Now(), nil
	l.leases += t.holders
	l.used += time.Since(t.began)
	switch others := y.Others(); {
	case others == 0:
		l.leases, l.used = 0, 0
	case others > 0, l.leases >= bounds.Count, l.used >= bounds.Time:
		l.yielder, l.leases, l.used = y, 0, 0
	}
}

// lost ends the turn of a lease that was lost, and lets the next caller compete. If the lease is on its way to a caller, that caller
// competes.
func (q *Queue) lost(key string, t *turn) {
	q.mu.Lock()
	l := q.lines[key]
	if l == nil || l.turn != t {
		q.mu.Unlock()
		return
	}
	t.endLocked(l)
	l.state = stateCompeting
	if t.holder != nil {
		t.holder.cancel(context.Cause(t.lease.Context())) // before the next caller competes
		q.nextLocked(key)
	}
	q.mu.Unlock()
	_ = t.lease.Release(context.Background()) // a lost lease, too, is released
}

// remembered is for how long after a turn a process lets others go first.
const remembered = 100 * time.Millisecond

// nextLocked lets the first caller in the line compete. Without one the line is idle.
func (q *Queue) nextLocked(key string) {
	l := q.lines[key]
	if first := l.callers.Front(); first != nil {
		l.state = stateCompeting
		l.callers.Remove(first).(*caller).ready <- answer{}
		return
	}
	l.state = stateIdle
	if l.leases > 0 || l.yielder != nil {
		since := l.since
		time.AfterFunc(remembered, func() { q.forget(key, l, since) })
		return
	}
	delete(q.lines, key)
}

// forget deletes a line that has had no turn since.
func (q *Queue) forget(key string, l *line, since time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lines[key] == l && l.state == stateIdle && l.since.Equal(since) {
		delete(q.lines, key)
	}
}

// failAll ends the wait of every caller in the line.
func (l *line) failAll(err error) {
	for first := l.callers.Front(); first != nil; first = l.callers.Front() {
		l.callers.Remove(first).(*caller).ready <- answer{err: err}
	}
}
