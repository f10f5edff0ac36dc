package lockstrategy

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"
)

// HandOff bounds how long a process may keep a key among its own waiters before the other processes get
// their turn. Zero fields mean the defaults. It is looked at when a lease is released: a
// holder that keeps its lease longer is not interrupted.
type HandOff struct {
	Count int           // leases in a row; 0: 256, 1: no hand-off
	Time  time.Duration // since the key came to the process; 0: 100 ms
}

// checked applies the defaults.
func (b HandOff) checked() (HandOff, error) {
	if b.Count < 0 || b.Time < 0 {
		return b, fmt.Errorf("lock: hand-off of %d leases in %s: the bounds are positive", b.Count, b.Time)
	}
	return HandOff{Count: cmp.Or(b.Count, 256), Time: cmp.Or(b.Time, 100*time.Millisecond)}, nil
}

// handOff hands the lease to the next waiter, or gives the key back and the turn to the next waiter.
func (g *Cohort) handOff(ctx context.Context, t *tenure) error {
	g.mu.Lock()
	q := g.queues[t.key]
	if q.first != nil && !q.first.ownTerms && t.mayPass(g.bounds) {
		q.pop().call(turn{tenure: t})
		g.mu.Unlock()
		runtime.Gosched() // the next holder works first, for everybody behind it waits; what this one has left to do waits a moment
		return nil
	}
	more := q.len > 0
	g.mu.Unlock()
	wait, err := t.close(ctx, more)
	g.next(t.key, wait)
	return err
}

// mayPass reports whether the next waiter of the process may have the lease, without asking anybody.
func (t *tenure) mayPass(bounds HandOff) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	within := t.leases < uint64(bounds.Count) && now.Sub(t.began) < bounds.Time && t.bound.IsZero()
	numbered := t.terms.Fence == 0 || t.leases < t.terms.Block
	sound := t.until.IsZero() || t.terms.Renewal > 0 && t.failing == nil && t.until.Sub(now) > t.terms.Renewal
	return !t.over && within && numbered && sound
}

// Fences that a grant reserves: some for those who may come, and for each who waits many, for who is served may come
// again. They must not outrun the server's clock, by which they grow: a grant takes longer than 32 microseconds,
// and so do the leases of those who wait and the turns of others together.
const (
	fewFences = 32
	perWaiter = 32
)

// block is how many fences the grant may need.
func (g *Cohort) block(key string) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return uint64(min(g.bounds.Count, max(fewFences, perWaiter*(1+g.queues[key].len))))
}
