package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"locklab/lockstrategy"
)

// Grant is a key that a backend has just granted.
type Grant struct {
	Key     string
	Number  uint64        // grows from grant to grant, below 2^56; 0 if the backend issues none
	Asked   time.Time     // when the acquire was sent: the lease cannot have begun earlier
	Expiry  time.Duration // after which the server frees the key; 0 if it never does by itself
	Renewed bool          // Renew extends the lease; otherwise it only asks whether the key is still held
	Owner   Owner

	// Unanswered is set for a grant that may exist: its request may still arrive, after a release that did not find the key.
	Unanswered bool
}

// NumberAt is the number of a grant at a time: since 2000, in steps of 32 µs. A server whose own numbers begin anew when it loses its data
// adds them to that of the time when its data began. Then they grow over the loss, unless it gave out more numbers than there were steps.
func NumberAt(t time.Time) uint64 {
	return uint64(max(0, t.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))/(32*time.Microsecond)))
}

// Owner sends the requests of one grant to its backend. Each call has a timeout of its own. A request that is executed twice must not
// change another owner's grant.
type Owner interface {
	// Renew extends the lease. An error that wraps [lockstrategy.ErrLost] is final; others are tried again.
	Renew(ctx context.Context) error
	// Release frees the key. Its error wraps [lockstrategy.ErrGone], or [lockstrategy.ErrUnavailable] when it is not known whether the key is
	// free.
	Release(ctx context.Context) error
}

// ReleaseFunc is the owner of a grant that is not renewed.
type ReleaseFunc func(ctx context.Context) error

// Renew implements [Owner]. It asks nobody.
func (ReleaseFunc) Renew(context.Context) error { return nil }

// Release implements [Owner].
func (f ReleaseFunc) Release(ctx context.Context) error { return f(ctx) }

// Watcher is an optional interface of an [Owner].
type Watcher interface {
	// Watch calls notify(true) when a message says that the key was released, and notify(false) when one may have been missed: after a
	// subscription has begun, and after its connection was lost. The session then asks the server at once.
	Watch(notify func(released bool)) (stop func())
}

// session keeps one grant: it renews the lease, and ends its context when it can no longer be relied on.
//
//	Asked                 due: Expiry/3                                  until: Expiry less drift
//	  |---------------------|----------------------------------------------|
//	  granted               renew; after a failure again in Expiry/12,     lost, unless a renewal was confirmed
//	                        or in a second if that is less
type session struct {
	Grant
	keeper *Keeper
	ctx    context.Context // the lease's
	cancel context.CancelCauseFunc
	bound  time.Time // of [lockstrategy.RenewAtMost], if it was given

	mu    sync.Mutex
	until time.Time // as last confirmed; zero if the lease has no end

	// Only the goroutine that keeps the lease uses the rest.
	listen  time.Time // when to begin to watch; zero if that has begun, or the owner cannot watch
	due     time.Time // of the next renewal; zero if none is due
	sent    time.Time // when the renewal was sent that has no answer yet; zero if there is none
	answer  chan error
	failing error     // why the last renewal was not confirmed
	heard   chan bool // what a [Watcher] said
	hinted  bool      // something was heard after the last renewal was sent, so the next one is due
	forced  bool      // a message said that the key was released, and no renewal has refuted it
}

// Keep begins the session of a grant. The lease's context has the values of ctx. A grant whose answer took longer than its lease is given
// back, and the error wraps [lockstrategy.ErrNotAcquired] and [lockstrategy.ErrExpired].
func (k *Keeper) Keep(ctx context.Context, r lockstrategy.Request, g Grant) (*lockstrategy.Lease, error) {
	s := &session{Grant: g, keeper: k, answer: make(chan error, 1), heard: make(chan bool, 16)}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	s.extend(g.Asked)
	now := time.Now()
	if r.RenewAtMost != nil {
		s.bound = now.Add(*r.RenewAtMost)
	}
	if _, watches := g.Owner.(Watcher); watches {
		// A lock that is released sooner costs no subscription. When it has begun, that is heard, and the lease is renewed.
		s.listen = now.Add(min(g.Expiry, lockstrategy.DefaultLease) / 12)
	}
	if g.Expiry > 0 && !now.Before(s.Until()) {
		k.GiveBack(g)
		return nil, lockstrategy.NotAcquired(g.Key, fmt.Errorf("%w when its grant arrived", lockstrategy.ErrExpired))
	}
	if s.idle() < math.MaxInt64 {
		go s.keep()
	}
	return lockstrategy.NewLease(s.ctx, g.Number*lockstrategy.TokensPerGrant, s), nil
}

// keep does what is due until the lease is released or lost.
func (s *session) keep() {
	unwatch := func() {}
	defer func() { unwatch() }()
	timer := time.NewTimer(s.idle())
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case released := <-s.heard:
			s.hinted, s.forced = true, s.forced || released
		case err := <-s.answer:
			if cause := s.handleAnswer(err); cause != nil {
				s.lose(cause)
				return
			}
		case <-timer.C:
		}
		now := time.Now()
		if end := s.Until(); !end.IsZero() && !now.Before(end) {
			s.lose(s.causeOfEnd(end))
			return
		}
		if !s.listen.IsZero() && !now.Before(s.listen) {
			s.listen = time.Time{}
			unwatch = s.Owner.(Watcher).Watch(s.notify)
		}
		if due := !s.due.IsZero() && !now.Before(s.due); s.sent.IsZero() && (due || s.hinted) {
			s.due, s.sent, s.hinted = time.Time{}, now, false
			go func() { s.answer <- s.Owner.Renew(context.Background()) }() // apart: a request that hangs must not delay the loss
		}
		timer.Reset(s.idle())
	}
}

// idle is the time until something is due.
func (s *session) idle() time.Duration {
	next := s.due
	if !s.sent.IsZero() { // its answer comes first
		next = time.Time{}
	}
	for _, t := range []time.Time{s.Until(), s.listen} {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if next.IsZero() {
		return math.MaxInt64
	}
	return time.Until(next)
}

// handleAnswer notes the answer to a renewal. It returns why the lease is lost, or nil if it is not.
func (s *session) handleAnswer(err error) (cause error) {
	sent := s.sent
	s.sent = time.Time{}
	switch {
	case err == nil:
		s.failing = nil
		s.forced = s.forced && s.hinted // only a message after this renewal was sent still counts
		s.extend(sent)
	case errors.Is(err, lockstrategy.ErrGone) && s.forced:
		return fmt.Errorf("%w: %s", lockstrategy.ErrForced, s.Key)
	case errors.Is(err, lockstrategy.ErrLost):
		return err
	default:
		s.failing, s.due = err, time.Now().Add(min(max(s.Expiry/12, time.Millisecond), time.Second))
	}
	return nil
}

// extend counts the lease from when its request was sent. It takes off the drift of the two clocks: one per cent, and the millisecond to
// which Redis keeps expiries. A lease that is not renewed keeps its end.
func (s *session) extend(sent time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Expiry > 0 && (s.Renewed || s.until.IsZero()) {
		s.until = sent.Add(s.Expiry - s.Expiry/100 - time.Millisecond)
	}
	if s.Renewed {
		s.due = sent.Add(s.Expiry / 3) // not from the answer: a slow server would cost the lease
	}
}

// causeOfEnd says why a lease that has come to its end is lost.
func (s *session) causeOfEnd(end time.Time) error {
	failing := s.failing
	if failing == nil && !s.sent.IsZero() {
		failing = errors.New("the last request has no answer yet")
	}
	if s.Renewed && failing != nil && !end.Equal(s.bound) {
		return fmt.Errorf("%w: %w", lockstrategy.ErrUnreachable, failing)
	}
	return lockstrategy.ErrExpired
}

// notify is told that the key may have been lost. It must not block.
func (s *session) notify(released bool) {
	select {
	case s.heard <- released:
	default: // the others say the same
	}
}

// lose ends the context before anything else happens. Then it releases, because the server may still have the key; and a key that was
// deleted by hand notified nobody, but the release does.
func (s *session) lose(cause error) {
	s.cancel(cause)
	if lockstrategy.LossOf(s.ctx) != nil { // otherwise it was released in this moment
		s.keeper.GiveBack(s.Grant)
	}
}

// Release implements [lockstrategy.Holder]. As soon as it begins, nobody may rely on the lock, whatever the server answers.
func (s *session) Release(ctx context.Context) error {
	s.cancel(nil)
	if lost := lockstrategy.LossOf(s.ctx); lost != nil {
		return lost
	}
	err := s.Owner.Release(context.WithoutCancel(ctx))
	if errors.Is(err, lockstrategy.ErrUnavailable) {
		s.keeper.GiveBack(s.Grant)
	}
	return err
}

// Others implements [lockstrategy.Yielder] with the owner's. It is 0 for an owner without one, whose server queues those that wait.
func (s *session) Others() int {
	if y, yields := s.Owner.(lockstrategy.Yielder); yields {
		return y.Others()
	}
	return 0
}

// Yield implements [lockstrategy.Yielder].
func (s *session) Yield(ctx context.Context) {
	if y, yields := s.Owner.(lockstrategy.Yielder); yields {
		y.Yield(ctx)
	}
}

// Until implements [lockstrategy.Holder].
func (s *session) Until() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until.IsZero() || !s.bound.IsZero() && s.bound.Before(s.until) {
		return s.bound
	}
	return s.until
}
