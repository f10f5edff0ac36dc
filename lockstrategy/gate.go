package lockstrategy

import (
	"context"
	"slices"
	"sync"
)

// Gate puts one first-in-first-out queue per key in front of a strategy: only the head of a queue
// talks to the backend, so that a process shows it one contender whatever the load. It orders the
// callers of one process and knows nothing of other processes. A holder keeps its turn until it
// releases, also when its lease was lost meanwhile.
type Gate struct {
	behind Strategy

	mu     sync.Mutex
	queues map[string]*queue // a key without holder and waiters has none
}

// queue is one key's line. While it exists, somebody has the turn.
type queue struct {
	waiting []chan struct{} // closed when the turn comes
}

// NewGate puts a gate in front of behind.
func NewGate(behind Strategy) *Gate {
	return &Gate{behind: behind, queues: make(map[string]*queue)}
}

// Acquire waits for its turn in key's queue, then for the strategy behind the gate.
func (g *Gate) Acquire(ctx context.Context, key string) (*Lease, error) {
	if err := g.wait(ctx, key); err != nil {
		return nil, notAcquired(key, err)
	}
	lease, err := g.behind.Acquire(ctx, key)
	if err != nil {
		g.next(key)
		return nil, err
	}
	lease.passOn = func() { g.next(key) }
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
		return ended(ctx)
	}
	g.mu.Lock()
	q, busy := g.queues[key]
	if !busy {
		g.queues[key] = &queue{}
		g.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	q.waiting = append(q.waiting, turn)
	g.mu.Unlock()

	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		g.leave(key, turn)
		return ended(ctx)
	}
}

// leave takes turn out of key's queue. If it was called at the same moment, it is passed on.
func (g *Gate) leave(key string, turn chan struct{}) {
	g.mu.Lock()
	q := g.queues[key] // exists: turn waits in it, or has the turn
	i := slices.Index(q.waiting, turn)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	g.mu.Unlock()
	if i < 0 {
		g.next(key)
	}
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
	close(q.waiting[0])
	q.waiting = q.waiting[1:]
}
