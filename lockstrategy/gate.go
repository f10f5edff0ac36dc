package lockstrategy

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Gate puts one first-in-first-out queue per key in front of a backend: only the head of a queue asks it,
// so that a process shows it one contender whatever the load. On release the lease is handed off to
// the next waiter without a word to the backend, within the bounds of [HandOff]; then the key goes back,
// and other processes have it before this one does. When the backend cannot be reached, everybody who
// waits is told so: one after the other they would find out too slowly.
//
// It knows the order of its own process's callers only. With a lease that is lost its turn is lost,
// too: the next waiter asks the backend although the former holder may not have noticed.
type Gate struct {
	behind     Backend
	bounds     HandOff
	background sync.WaitGroup

	mu     sync.Mutex
	queues map[string]*list.List // of *waiter. A key has one while somebody has the turn
	closed bool
}

// waiter stands in a queue.
type waiter struct {
	turn     chan turn // gets one word
	ownTerms bool      // takes no lease that was granted to somebody else
	place    *list.Element
}

// turn is a waiter's word: it is the next.
type turn struct {
	tenure *tenure       // handed off; nil: ask the backend
	wait   time.Duration // as in Ask.Defer
	err    error         // it is not: the wait has ended
}

// NewGate puts a gate in front of behind.
func NewGate(behind Backend, bounds HandOff) (*Gate, error) {
	bounds, err := bounds.checked()
	if err != nil {
		return nil, err
	}
	return &Gate{behind: behind, bounds: bounds, queues: make(map[string]*list.List)}, nil
}

// Acquire waits for its turn in key's queue, then takes the lease that is handed to it or asks the backend.
func (g *Gate) Acquire(ctx context.Context, key string, list ...Option) (*Lease, error) {
	if again := reenter(ctx, g, key); again != nil {
		return again, nil
	}
	o, err := chosen(list)
	if err != nil {
		return nil, notAcquired(key, err)
	}
	waiting := ctx
	if o.wait > 0 {
		var cancel context.CancelFunc
		tooLong := fmt.Errorf("waited %s, the longest that is allowed: %w", o.wait, context.DeadlineExceeded)
		waiting, cancel = context.WithTimeoutCause(ctx, o.wait, tooLong)
		defer cancel()
	}
	turn, err := g.wait(waiting, key, &o)
	if err != nil {
		return nil, err
	}
	if turn.tenure != nil {
		if h := turn.tenure.seat(ctx); h != nil {
			return h.lease(ctx), nil
		} // it was lost on the way; the turn is not
	}
	return g.ask(ctx, waiting, key, &o, turn.wait)
}

// wait returns when the caller has the turn; whoever has it must pass it on.
func (g *Gate) wait(ctx context.Context, key string, o *options) (turn, error) {
	if ctx.Err() != nil {
		return turn{}, notAcquired(key, ended(ctx))
	}
	g.mu.Lock()
	queue, busy := g.queues[key]
	if !busy {
		g.queues[key] = list.New()
	}
	if !busy || o.atOnce {
		g.mu.Unlock()
		if busy {
			return turn{}, notAcquired(key, ErrTaken)
		}
		return turn{}, nil
	}
	w := &waiter{turn: make(chan turn, 1), ownTerms: o.ownTerms()}
	w.place = queue.PushBack(w)
	g.mu.Unlock()

	select {
	case t := <-w.turn:
		return t, t.err
	case <-ctx.Done():
		g.leave(key, w)
		return turn{}, notAcquired(key, ended(ctx))
	}
}

// leave takes w out of key's queue. If its turn came at the same moment, it is passed on.
func (g *Gate) leave(key string, w *waiter) {
	g.mu.Lock()
	select {
	case t := <-w.turn:
		g.mu.Unlock()
		switch {
		case t.tenure != nil:
			g.inBackground(func() { _ = g.passOn(context.Background(), t.tenure) })
		case t.err == nil:
			g.next(key, t.wait)
		}
	default:
		g.queues[key].Remove(w.place)
		g.mu.Unlock()
	}
}

// ask asks the backend, for a caller who waits no longer than waiting.
func (g *Gate) ask(ctx, waiting context.Context, key string, o *options, wait time.Duration) (*Lease, error) {
	t, err := g.grant(waiting, key, o, wait)
	if err != nil {
		return nil, err
	}
	h := t.seat(ctx)
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
func (g *Gate) grant(ctx context.Context, key string, o *options, wait time.Duration) (t *tenure, err error) {
	defer func() { // also when the backend panics
		switch {
		case t != nil:
		case errors.Is(err, ErrUnavailable):
			g.disperse(key, err)
		default:
			g.next(key, wait)
		}
	}()
	terms, err := g.behind.Grant(ctx, key, Ask{AtOnce: o.atOnce, Lease: o.lease, Block: g.block(key), Defer: wait})
	if err != nil {
		return nil, err
	}
	return g.newTenure(key, terms, o.total), nil
}

// release ends h's time with the lock.
func (g *Gate) release(ctx context.Context, h *hold) error {
	if lost := h.tenure.vacate(); lost != nil {
		return lost // its turn was passed on then
	}
	h.end(nil) // nobody may rely on it from here on, whatever the server will say
	return g.passOn(ctx, h.tenure)
}

// next gives the turn to the first waiter, or ends the queue.
func (g *Gate) next(key string, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	queue := g.queues[key]
	first := queue.Front()
	if first == nil {
		delete(g.queues, key)
		return
	}
	queue.Remove(first).(*waiter).turn <- turn{wait: wait}
}

// disperse ends the caller's turn, and the waiting of everybody behind it, with err.
func (g *Gate) disperse(key string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for w := g.queues[key].Front(); w != nil; w = w.Next() {
		w.Value.(*waiter).turn <- turn{err: err}
	}
	delete(g.queues, key)
}

// Waiting returns how many callers stand in all queues, those that have the turn not counted.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, queue := range g.queues {
		n += queue.Len()
	}
	return n
}

// inBackground runs f, unless the gate has been closed: then what is held ends by itself.
func (g *Gate) inBackground(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.background.Go(f)
	}
}

// close waits for what goes on in the background.
func (g *Gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.background.Wait()
}
