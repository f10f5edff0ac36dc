package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Cohort puts one first-in-first-out queue per key in front of a backend: only the head of a queue asks it,
// so that a process shows it one contender whatever the load. On release the lease is handed off to
// the next waiter without a word to the backend, within the bounds of [HandOff]; then the key goes back,
// and other processes have it before this one does. When the backend cannot be reached, everybody who
// waits is told so: one after the other they would find out too slowly.
//
// It knows the order of its own process's callers only. With a lease that is lost its turn is lost,
// too: the next waiter asks the backend although the former holder may not have noticed.
type Cohort struct {
	behind     Backend
	bounds     HandOff
	background sync.WaitGroup
	young      young

	mu     sync.Mutex
	queues map[string]*queue // a key has one while somebody has the turn
	closed bool
}

// NewCohort puts a gate in front of behind.
func NewCohort(behind Backend, bounds HandOff) (*Cohort, error) {
	bounds, err := bounds.checked()
	if err != nil {
		return nil, err
	}
	return &Cohort{behind: behind, bounds: bounds, queues: make(map[string]*queue)}, nil
}

// Acquire waits for its turn in key's queue, then takes the lease that is handed to it or asks the backend.
func (g *Cohort) Acquire(ctx context.Context, key string, choice ...Option) (*Lease, error) {
	if again := reenter(ctx, g, key); again != nil {
		return again, nil
	}
	o, err := chosen(choice)
	switch {
	case err != nil:
		return nil, notAcquired(key, err)
	case o.wait != nil:
		return g.acquireWithin(ctx, key, o)
	}
	return g.acquire(ctx, ctx, key, o)
}

// acquireWithin bounds the wait, and only the wait: the lease outlives the bound.
func (g *Cohort) acquireWithin(ctx context.Context, key string, o *options) (*Lease, error) {
	tooLong := fmt.Errorf("waited %s, the longest that is allowed: %w", *o.wait, context.DeadlineExceeded)
	waiting, cancel := context.WithTimeoutCause(ctx, *o.wait, tooLong)
	defer cancel()
	return g.acquire(ctx, waiting, key, o)
}

// acquire waits no longer than waiting. Ten thousand callers may stand in it: its frame is small, and it
// makes what it needs before it goes deeper.
func (g *Cohort) acquire(ctx, waiting context.Context, key string, o *options) (*Lease, error) {
	switch {
	case waiting.Err() != nil:
		return nil, notAcquired(key, ended(waiting))
	case g.enter(key, nil):
		return g.ask(ctx, waiting, key, o, 0)
	case o.atOnce:
		return nil, notAcquired(key, ErrTaken)
	}
	w := &waiter{called: make(chan struct{}, 1), ownTerms: o.ownTerms()}
	if g.enter(key, w) { // everybody has gone meanwhile
		return g.ask(ctx, waiting, key, o, 0)
	}
	select {
	case <-w.called:
		return g.take(ctx, waiting, key, o, w)
	case <-waiting.Done():
		g.leave(key, w)
		return nil, notAcquired(key, ended(waiting))
	}
}

// enter reports whether the caller has the turn, because nobody was there; whoever has it must pass it on.
// Otherwise w, if there is one, now stands in the queue.
func (g *Cohort) enter(key string, w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.queues[key]
	if q == nil {
		g.queues[key] = new(queue)
		return true
	}
	if w != nil {
		q.push(w)
	}
	return false
}

// take takes the turn that w was called for.
func (g *Cohort) take(ctx, waiting context.Context, key string, o *options, w *waiter) (*Lease, error) {
	if w.turn.err != nil {
		return nil, w.turn.err
	}
	if w.turn.tenure != nil {
		if h := w.turn.tenure.seat(); h != nil {
			return h.lease(ctx), nil
		} // it was lost on the way; the turn is not
	}
	return g.ask(ctx, waiting, key, o, w.turn.wait)
}

// leave takes w out of key's queue. If its turn came at the same moment, it is passed on.
func (g *Cohort) leave(key string, w *waiter) {
	g.mu.Lock()
	select {
	case <-w.called:
		g.mu.Unlock()
		switch t := w.turn; {
		case t.tenure != nil:
			pass := func() { _ = g.handOff(context.Background(), t.tenure) }
			if !g.inBackground(pass) {
				pass()
			}
		case t.err == nil:
			g.next(key, t.wait)
		}
	default:
		g.queues[key].remove(w)
		g.mu.Unlock()
	}
}

// ask asks the backend, for a caller who waits no longer than waiting.
func (g *Cohort) ask(ctx, waiting context.Context, key string, o *options, wait time.Duration) (*Lease, error) {
	t, err := g.grant(waiting, key, o, wait)
	if err != nil {
		return nil, err
	}
	h := t.seat()
	if h == nil { // the answer took longer than the lease
		g.next(key, 0)
		return nil, notAcquired(key, fmt.Errorf("%w: the lease was over when its grant arrived", ErrUnavailable))
	}
	lease := h.lease(ctx)
	if waiting.Err() != nil { // nobody waits for it any more
		_ = lease.Release(ctx)
		return nil, notAcquired(key, ended(waiting))
	}
	return lease, nil
}

// grant begins a tenure. Whatever goes wrong, the turn is passed on.
func (g *Cohort) grant(ctx context.Context, key string, o *options, wait time.Duration) (t *tenure, err error) {
	defer func() { // also when the backend panics
		switch {
		case t != nil:
		case errors.Is(err, ErrUnavailable):
			g.disperse(key, err)
		default:
			g.next(key, 0) // a call may have come while nobody heard it
		}
	}()
	terms, err := g.behind.Grant(ctx, key, Ask{AtOnce: o.atOnce, Lease: o.explicit(), Block: g.block(key), Defer: wait})
	if err != nil {
		return nil, err
	}
	return g.newTenure(key, terms, o.total), nil
}

// release ends h's time with the lock.
func (g *Cohort) release(ctx context.Context, h *hold) error {
	if lost := h.tenure.vacate(); lost != nil {
		return lost // its turn was passed on then
	}
	h.end(nil) // nobody may rely on it from here on, whatever the server will say
	return g.handOff(ctx, h.tenure)
}

// next gives the turn to the first waiter, or ends the queue.
func (g *Cohort) next(key string, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if first := g.queues[key].pop(); first != nil {
		first.call(turn{wait: wait})
		return
	}
	delete(g.queues, key)
}

// disperse ends the caller's turn, and the waiting of everybody behind it, with err.
func (g *Cohort) disperse(key string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for w := g.queues[key].pop(); w != nil; w = g.queues[key].pop() {
		w.call(turn{err: err})
	}
	delete(g.queues, key)
}

// Waiting returns how many callers stand in all queues, those that have the turn not counted.
func (g *Cohort) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, q := range g.queues {
		n += q.len
	}
	return n
}

// inBackground runs f, unless the gate has been closed: then what is held ends by itself. It reports whether f runs.
func (g *Cohort) inBackground(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.background.Go(f)
	}
	return !g.closed
}

// close waits for what goes on in the background.
func (g *Cohort) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.background.Wait()
}
