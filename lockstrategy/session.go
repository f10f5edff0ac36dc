package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Grant describes a key that a backend has just granted. Each of its functions returns after a timeout of its own.
type Grant struct {
	Key     string
	Number  uint64                                               // grows from grant to grant, below 2^56; 0: this store issues none
	Asked   time.Time                                            // when the request was sent: the lease cannot have begun earlier
	Expiry  time.Duration                                        // after which the server frees the key; 0: it does not end by itself
	Renewed bool                                                 // Renew extends the lease; otherwise it asks whether the key is still held
	Renew   func(ctx context.Context) error                      // an error that wraps ErrLost is final, others are tried again
	Release func(ctx context.Context) (listeners int, err error) // may be called again; listeners: other processes that were notified
	Watch   func(notify func(released bool)) (stop func())       // tells that somebody else may have released the key; nil: never
}

// session keeps one granted lock: it renews it, and ends its context when it can no longer be relied on.
type session struct {
	Grant
	all    *Sessions
	bound  time.Time       // no longer than this, renewed or not; zero: no bound
	ctx    context.Context // the lease's; it ends with the session
	cancel context.CancelCauseFunc

	mu              sync.Mutex
	expires         time.Time // as last confirmed; zero: never
	due             time.Time // when the server is asked next; zero: nothing is scheduled
	failing         error     // why the last renewal was not confirmed; nil: it was
	releasedByOther bool      // a release by another process was notified
	timer           *time.Timer
	unwatch         func()
}

// Begin begins the session of a grant. The lease's context has the values of ctx. A grant whose answer took longer than its lease is given
// back, and the error wraps [ErrNotAcquired] and [ErrExpired].
func (all *Sessions) Begin(ctx context.Context, r Request, g Grant) (*Lease, error) {
	s := &session{Grant: g, all: all}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	s.mu.Lock() // tick may come before the field timer is set
	defer s.mu.Unlock()
	s.confirmedLocked(g.Asked)
	if r.RenewAtMost != nil {
		s.bound = time.Now().Add(*r.RenewAtMost)
	}
	until := s.untilLocked()
	left := time.Until(until)
	switch {
	case until.IsZero() && g.Watch == nil: // nothing to keep
	case g.Expiry > 0 && left <= 0:
		all.compensate(g)
		return nil, notAcquired(g.Key, fmt.Errorf("%w when its grant arrived", ErrExpired))
	default:
		s.timer = time.AfterFunc(max(0, min(left, g.Expiry/12, startDelay)), s.tick)
	}
	return &Lease{ctx: s.ctx, token: g.Number << tokenBits, origin: s}, nil // room for the hand-offs
}

// startDelay, or a twelfth of a short lease, passes before a session subscribes: a lock that is released sooner costs no subscription. It
// is longer than the default of [Timing].Request: a timer that is due before all others wakes a thread when set (BenchmarkStartDelay).
const startDelay = 2500 * time.Millisecond

// tick does the work that is due: it begins to listen, asks the server, or ends a lease that was not renewed in time.
func (s *session) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, until := time.Now(), s.untilLocked()
	if s.ctx.Err() != nil {
		return
	}
	if !until.IsZero() && !now.Before(until) {
		cause := ErrExpired
		if s.Renewed && s.failing != nil && !until.Equal(s.bound) {
			cause = fmt.Errorf("%w: %w", ErrUnreachable, s.failing)
		}
		s.loseLocked(cause)
		return
	}
	if s.Watch != nil && s.unwatch == nil {
		s.unwatch = s.Watch(func(released bool) { go s.confirm(released) })
	}
	if !s.due.IsZero() && !now.Before(s.due) {
		s.due = time.Time{}
		go s.confirm(false) // beside the timer: a request that hangs cannot delay the loss
	}
	s.wakeLocked()
}

// wakeLocked sets the timer for the next event.
func (s *session) wakeLocked() {
	next := s.untilLocked()
	if !s.due.IsZero() && (next.IsZero() || s.due.Before(next)) {
		next = s.due
	}
	if !next.IsZero() {
		s.timer.Reset(time.Until(next))
	}
}

// confirm renews the lease, or asks whether it is still held. Without an answer it is tried again sooner.
func (s *session) confirm(released bool) {
	s.mu.Lock()
	s.releasedByOther = s.releasedByOther || released
	if s.failing == nil {
		s.failing = errors.New("the last request has no answer yet")
	}
	s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	asked := time.Now()
	err := s.Renew(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
	case errors.Is(err, ErrGone) && (released || s.releasedByOther):
		s.loseLocked(fmt.Errorf("%w: %s", ErrForced, s.Key))
	case errors.Is(err, ErrLost):
		s.loseLocked(err)
	case err != nil:
		s.failing, s.due = err, time.Now().Add(min(max(s.Expiry/12, time.Millisecond), time.Second))
		s.wakeLocked()
	default:
		s.confirmedLocked(asked)
		s.wakeLocked()
	}
}

// confirmedLocked counts the lease from when it was asked for. It takes off the drift of the two clocks: one per cent, and
// the millisecond to which Redis keeps expiries. A lease that is not renewed keeps its end.
func (s *session) confirmedLocked(asked time.Time) {
	s.failing, s.releasedByOther = nil, false
	if s.Expiry > 0 && (s.Renewed || s.expires.IsZero()) {
		s.expires = asked.Add(s.Expiry - s.Expiry/100 - time.Millisecond)
	}
	if s.Renewed {
		s.due = asked.Add(s.Expiry / 3) // not from the answer: a slow server would cost the lease
	}
}

// loseLocked ends the context before anything else happens. Then it releases: the server may still have the key, and nobody was notified
// of a key that was deleted.
func (s *session) loseLocked(cause error) {
	s.endLocked(cause)
	s.all.compensate(s.Grant) // also when it is gone
}

func (s *session) endLocked(cause error) {
	s.cancel(cause)
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.unwatch != nil {
		s.unwatch()
	}
}

// release implements origin. As soon as it begins, nobody may rely on the lock, whatever the server answers.
func (s *session) release(ctx context.Context) (listeners int, err error) {
	s.mu.Lock()
	s.endLocked(nil)
	s.mu.Unlock()
	if lost := loss(s.ctx); lost != nil || s.Release == nil {
		return 0, lost
	}
	listeners, err = s.Release(context.WithoutCancel(ctx))
	if errors.Is(err, ErrUnavailable) {
		s.all.compensate(s.Grant)
	}
	return listeners, err
}

// until implements origin.
func (s *session) until() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.untilLocked()
}

func (s *session) untilLocked() time.Time {
	if s.expires.IsZero() || !s.bound.IsZero() && s.bound.Before(s.expires) {
		return s.bound
	}
	return s.expires
}

// Sessions starts the sessions of one strategy, and repeats their releases until it is closed.
type Sessions struct {
	ctx        context.Context
	close      context.CancelFunc
	mu         sync.Mutex
	background sync.WaitGroup
}

// NewSessions returns an empty set of sessions for a new strategy.
func NewSessions() *Sessions {
	ctx, cancel := context.WithCancel(context.Background())
	return &Sessions{ctx: ctx, close: cancel}
}

// Close ends the repeated releases. Leases that are held stay held, and can be released.
func (all *Sessions) Close() {
	all.mu.Lock()
	all.close()
	all.mu.Unlock()
	all.background.Wait()
}

// inBackground runs f, unless the strategy is closed. Close waits for it.
func (all *Sessions) inBackground(f func()) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.ctx.Err() == nil {
		all.background.Go(f)
	}
}

// compensate repeats a release in the background until the server confirms it. The server may still have the key, and a failover may bring
// it back. It stops after two leases, and not before six seconds: some servers keep a short lease for three. A grant without an expiry is
// released until Close. Pauses spare a server that is away.
func (all *Sessions) compensate(g Grant) {
	if g.Release == nil {
		return
	}
	all.inBackground(func() {
		ctx, cancel := all.ctx, func() {}
		if g.Expiry > 0 {
			ctx, cancel = context.WithTimeout(ctx, 2*max(g.Expiry, 3*time.Second))
		}
		defer cancel()
		for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
			if _, err := g.Release(ctx); !errors.Is(err, ErrUnavailable) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	})
}
