package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// tenure is the time for which a process has a key: from the backend's grant until it is given back or lost.
// In it the leases of the process's waiters follow each other, one at a time. It renews what the
// backend granted, and its end is the end of whoever relies on it.
type tenure struct {
	gate  *Cohort
	key   string
	terms Terms
	began time.Time
	bound time.Time // no longer than this, renewed or not; zero: no bound

	mu      sync.Mutex
	hold    *hold     // who relies on it; nil: it is between two holders, or over
	leases  uint64    // how many there were
	until   time.Time // the last confirmed end; zero: it does not expire
	failing error     // why the last renewal was not confirmed; nil: it was
	asking  bool      // a renewal has not been answered yet
	over    bool
	lost    error       // why, if it was
	expiry  *time.Timer // a timer of its own, so that a renewal that hangs cannot delay the loss; nil: not yet settled
	stop    context.CancelFunc
	kept    chan struct{} // closed when keep has ended; nil: it has not begun
	unwatch func()        // ends listening; nil: it has not begun
}

func (g *Cohort) newTenure(key string, terms Terms, total *time.Duration) *tenure {
	t := &tenure{gate: g, key: key, terms: terms, began: time.Now(), until: terms.Until}
	if total != nil {
		t.bound = t.began.Add(*total)
	}
	switch end := t.end(); {
	case end.IsZero(): // nothing to keep
	case time.Until(end) > 10*settled:
		g.young.add(t)
	default:
		t.settle()
	}
	return t
}

// settle begins to look after t: when it expires, when it is to be renewed, and whether it is taken away.
func (t *tenure) settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.expiry = time.AfterFunc(time.Until(t.endLocked()), t.expire)
	if t.terms.Keeper != nil && !t.terms.Until.IsZero() {
		var ctx context.Context
		ctx, t.stop = context.WithCancel(context.Background())
		t.kept = make(chan struct{})
		var ring <-chan struct{}
		ring, t.unwatch = t.terms.Keeper.Watch()
		go t.keep(ctx, ring)
	}
}

// seat makes t a new holder's, or returns nil when t is over.
func (t *tenure) seat() *hold {
	h := newHold(t, t.key)
	t.mu.Lock()
	defer t.mu.Unlock()
	if end := t.endLocked(); t.over || !end.IsZero() && !time.Now().Before(end) { // the timer may be late
		return nil
	}
	if t.terms.Fence > 0 {
		h.fence = t.terms.Fence + t.leases
	}
	t.leases++
	t.hold = h
	return h
}

// vacate ends its holder's time, or returns why it had ended before.
func (t *tenure) vacate() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hold = nil
	return t.lost
}

// close gives the key back, and waits until nothing of t runs any more. It listens until there is an answer: who
// releases says whether it listens itself.
func (t *tenure) close(ctx context.Context, again bool) (wait time.Duration, err error) {
	t.mu.Lock()
	t.stopLocked()
	kept := t.kept
	t.mu.Unlock()
	if t.terms.Keeper != nil {
		wait, err = t.terms.Keeper.Release(context.WithoutCancel(ctx), again)
	}
	if kept != nil {
		<-kept
		t.unwatch()
	}
	return wait, err
}

// lose ends t for cause, and whoever relies on it, before anything else happens.
func (t *tenure) lose(cause error) {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return
	}
	t.lost = cause
	t.stopLocked()
	h := t.hold
	t.hold = nil
	if h != nil {
		h.end(cause)
	}
	t.mu.Unlock()
	switch {
	case !errors.Is(cause, ErrGone) && !errors.Is(cause, ErrForced):
		t.gate.inBackground(func() { _, _ = t.close(context.Background(), false) }) // the server may have it still
	case t.unwatch != nil:
		t.unwatch()
	}
	if h != nil { // otherwise the next holder is on its way, and has the turn
		t.gate.next(t.key, 0)
	}
}

func (t *tenure) stopLocked() {
	t.over = true
	if t.expiry != nil {
		t.expiry.Stop()
	}
	if t.stop != nil {
		t.stop()
	}
	t.gate.young.remove(t)
}

func (t *tenure) expire() {
	t.mu.Lock()
	if left := time.Until(t.endLocked()); left > 0 { // it was renewed at the last moment
		t.expiry.Reset(left)
		t.mu.Unlock()
		return
	}
	cause := ErrExpired
	if renewed := t.terms.Renewal > 0 && (t.bound.IsZero() || t.until.Before(t.bound)); renewed {
		switch {
		case t.failing != nil:
			cause = fmt.Errorf("%w: %w", ErrUnreachable, t.failing)
		case t.asking:
			cause = fmt.Errorf("%w: the first that was asked for has no answer yet", ErrUnreachable)
		}
	}
	t.mu.Unlock()
	t.lose(cause)
}

// keep renews until t is over, and at once when the lock may have been taken away. A renewal without an
// answer is tried again sooner: the expiry decides when that was too late.
func (t *tenure) keep(ctx context.Context, ring <-chan struct{}) {
	defer close(t.kept)
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	due.Stop()
	if t.terms.Renewal > 0 {
		due.Reset(time.Until(t.began.Add(t.terms.Renewal)))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ring:
		case <-due.C:
		}
		if pause := t.renew(ctx); pause > 0 {
			due.Reset(pause)
		}
	}
}

// renew renews once, or looks whether an explicit lease is still there. It returns when to do so again; 0: when
// something is heard.
func (t *tenure) renew(ctx context.Context) time.Duration {
	t.asks(true)
	until, err := t.terms.Keeper.Renew(ctx)
	t.asks(false)
	if errors.Is(err, ErrLost) {
		t.lose(err)
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return 0
	}
	if t.failing = err; err != nil {
		if t.terms.Renewal == 0 {
			return settled
		}
		return t.terms.Renewal / 4
	}
	if t.terms.Renewal > 0 {
		t.until = until
		t.expiry.Reset(time.Until(t.endLocked()))
	}
	return t.terms.Renewal
}

func (t *tenure) asks(asking bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking = asking
}

func (t *tenure) end() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.endLocked()
}

func (t *tenure) endLocked() time.Time {
	if t.until.IsZero() || !t.bound.IsZero() && t.bound.Before(t.until) {
		return t.bound
	}
	return t.until
}

func (t *tenure) lossOf() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}
