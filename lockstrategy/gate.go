package lockstrategy

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Gate puts one first-in-first-out queue per key in front of a strategy: only the head of a queue
// talks to the backend, so that a process shows it one contender whatever the load. It orders the
// callers of one process and knows nothing of other processes. A holder keeps its turn until it
// releases, also when its lease was lost meanwhile. When the backend cannot be reached, everybody who
// waits is told so: one after the other they would find out too slowly.
type Gate struct {
	behind Strategy

	mu     sync.Mutex
	queues map[string]*queue // a key without holder and waiters has none
}

// queue is one key's line. While it exists, somebody has the turn.
type queue struct {
	waiting []chan error // each gets one word: nil is the turn, an error is the end of waiting
}

// NewGate puts a gate in front of behind.
func NewGate(behind Strategy) *Gate {
	return &Gate{behind: behind, queues: make(map[string]*queue)}
}

// Acquire waits for its turn in key's queue, then for the strategy behind the gate.
func (g *Gate) Acquire(ctx context.Context, key string) (*Lease, error) {
	if err := g.wait(ctx, key); err != nil {
		return nil, err
	}
	pass := g.next // also when the strategy panics
	defer func() {
		if pass != nil {
			pass(key)
		}
	}()
	lease, err := g.behind.Acquire(ctx, key)
	if errors.Is(err, ErrUnavailable) {
		pass = func(key string) { g.disperse(key, err) }
	}
	if err != nil {
		return nil, err
	}
	pass = nil // the lease has the turn now
	inner := lease.passOn
	lease.passOn = func() {
		if inner != nil { // there is a gate behind this gate
			inner()
		}
		g.next(key)
	}
	return lease, nil
}

// Waiting returns how many callers stand in all queues, those that have the turn not counted.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, q := range g.queues {
		n += len(q.waiting)
	}
	return n
}

// wait returns nil when the caller has the turn; whoever has it must call next.
func (g *Gate) wait(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return notAcquired(key, ended(ctx))
	}
	g.mu.Lock()
	q, busy := g.queues[key]
	if !busy {
		g.queues[key] = &queue{}
		g.mu.Unlock()
		return nil
	}
	turn := make(chan error, 1)
	q.waiting = append(q.waiting, turn)
	g.mu.Unlock()

	select {
	case err := <-turn:
		return err
	case <-ctx.Done():
		g.leave(key, turn)
		return notAcquired(key, ended(ctx))
	}
}

// leave takes turn out of key's queue. If the turn came at the same moment, it is passed on.
func (g *Gate) leave(key string, turn chan error) {
	g.mu.Lock()
	if q := g.queues[key]; q != nil {
		if i := slices.Index(q.waiting, turn); i >= 0 {
			q.waiting = slices.Delete(q.waiting, i, i+1)
			g.mu.Unlock()
			return
		}
	}
	g.mu.Unlock()
	if err := <-turn; err == nil { // it is no longer in the queue, so it got its word
		g.next(key)
	}
}

// disperse ends the caller's turn, and the waiting of everybody behind it, with err.
func (g *Gate) disperse(key string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, turn := range g.queues[key].waiting {
		turn <- err
	}
	delete(g.queues, key)
}

// next ends the caller's turn: the first waiter's begins, or the queue is gone.
func (g *Gate) next(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.queues[key]
	if len(q.waiting) == 0 {
		delete(g.queues, key)
		return
	}
	q.waiting[0] <- nil
	q.waiting = q.waiting[1:]
}
