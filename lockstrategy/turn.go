package lockstrategy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// turn is the time for which a process has a key. It is one lease of the strategy behind a [Cohort], handed off from one holder to
// the next.
type turn struct {
	cohort  *Cohort
	key     string
	granted *Lease
	private bool // granted with [LeaseFor] or [RenewAtMost]: never handed off
	began   time.Time
	fresh   time.Duration // what was left of the lease when it was granted
	forget  func() bool   // stops looking for its loss

	mu      sync.Mutex
	holder  *holder // nil: between two
	holders uint64  // so far
	over    bool
}

// tokenBits is how many bits of a fencing token count the hand-offs of one grant. The others are the one number that a store gives each
// grant: etcd's revision, ZooKeeper's czxid. Such a token is below 2^53, which JavaScript keeps, while the number is below 2^45.
const tokenBits = 8

// holder is one caller's time with the lock, however often the caller has entered.
type holder struct {
	turn    *turn
	token   uint64
	ctx     context.Context
	end     context.CancelCauseFunc
	entries atomic.Int32 // leases that are not released; at zero the holder gives the lock up
}

func newTurn(c *Cohort, key string, granted *Lease, private bool) *turn {
	t := &turn{cohort: c, key: key, granted: granted, private: private, began: time.Now(), fresh: time.Until(granted.Until())}
	t.forget = context.AfterFunc(granted.Context(), t.lose)
	return t
}

// lease makes a caller the holder, or returns nil when the turn is over.
func (t *turn) lease(ctx context.Context) *Lease {
	h := &holder{turn: t}
	h.ctx, h.end = context.WithCancelCause(t.granted.Context()) // a loss ends it before the key is given back
	h.entries.Store(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.granted.Context().Err() != nil {
		return nil
	}
	if h.token = t.granted.FencingToken(); h.token > 0 {
		h.token += t.holders
	}
	t.holders++
	t.holder = h
	return h.lease(ctx)
}

// mayPass reports whether the lease may be handed off. With less than half of its time left it is released instead.
func (t *turn) mayPass(bounds HandOff) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.granted.Until()
	within := t.holders < uint64(bounds.Count) && time.Since(t.began) < bounds.Time
	numbered := t.granted.token == 0 || t.holders < t.granted.tokens
	sound := t.granted.Context().Err() == nil && (end.IsZero() || time.Until(end) > t.fresh/2)
	return within && numbered && sound && !t.private
}

// end gives the key back, and says how many other processes wait for it.
func (t *turn) end(ctx context.Context) (others int, err error) {
	t.forget()
	t.mu.Lock()
	over := t.over
	t.over = true
	t.mu.Unlock()
	if over {
		return 0, loss(t.granted.Context())
	}
	err = t.granted.Release(ctx)
	return t.granted.Others(), err
}

// lose ends the turn of a process whose lease was lost. Without a holder, the next caller finds the turn over.
func (t *turn) lose() {
	t.mu.Lock()
	h, over := t.holder, t.over
	t.holder, t.over = nil, true
	t.mu.Unlock()
	if !over {
		_ = t.granted.Release(context.Background()) // a lost lease, too, is released
	}
	if h != nil {
		t.cohort.next(t.key)
	}
}

// lease is one entry of the holder.
func (h *holder) lease(ctx context.Context) *Lease {
	return &Lease{ctx: &heldContext{h.ctx, ctx, h}, token: h.token, behind: h}
}

func (h *holder) until() time.Time { return h.turn.granted.Until() }

// release takes one entry back, and with the last one the lock.
func (h *holder) release(ctx context.Context) (others int, err error) {
	if h.entries.Add(-1) > 0 {
		return 0, loss(h.ctx)
	}
	t := h.turn
	t.mu.Lock()
	holds := t.holder == h
	if holds {
		t.holder = nil
	}
	t.mu.Unlock()
	if !holds {
		return 0, loss(h.ctx)
	}
	h.end(nil) // nobody may rely on it from here on, whatever the server will say
	return t.cohort.handOff(ctx, t)
}

// enterAgain returns one more lease for a caller that holds key already, or nil.
func (c *Cohort) enterAgain(ctx context.Context, key string) *Lease {
	h, _ := ctx.Value(holderKey{c, key}).(*holder)
	if h == nil || ctx.Err() != nil {
		return nil
	}
	for n := h.entries.Load(); n > 0 && h.ctx.Err() == nil; n = h.entries.Load() {
		if h.entries.CompareAndSwap(n, n+1) {
			return h.lease(ctx)
		}
	}
	return nil
}

// holderKey finds a caller's holder in a context.
type holderKey struct {
	cohort *Cohort
	key    string
}

func (h *holder) key() holderKey { return holderKey{h.turn.cohort, h.turn.key} }

// heldContext ends with its holder, has the values of the caller's context, and the holder in it.
type heldContext struct {
	context.Context
	values context.Context
	holder *holder
}

// Value looks at the holder's own context first, because package context finds the cause of an end by a value.
func (c *heldContext) Value(key any) any {
	if key == any(c.holder.key()) {
		return c.holder
	}
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

// under is ctx for work that may enter again.
func (l *Lease) under(ctx context.Context) context.Context {
	if h, ok := l.behind.(*holder); ok {
		return context.WithValue(ctx, h.key(), h)
	}
	return ctx
}
