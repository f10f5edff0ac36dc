package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// Grant is what a backend says about a key that it has just granted. Its functions bound themselves in time.
type Grant struct {
	Key           string
	Token, Tokens uint64        // the fencing token, and how many numbers from it on are reserved; 0: the backend has none
	Asked         time.Time     // when the request was sent: the server cannot have started the lease earlier
	Lease         time.Duration // after which the server frees the key; 0: it does not end by itself
	Renewed       bool          // Renew extends the lease; otherwise it only asks whether the key is still held

	Renew   func(ctx context.Context) error                   // an error that wraps ErrLost is final, others are tried again
	Release func(ctx context.Context) (others int, err error) // may be called again. See Lease.Others
	Watch   func(heard func(released bool)) (stop func())     // tells that somebody else may have released the key; nil: never
}

// session keeps one granted lock: it renews it, and ends its context when it can no longer be relied on.
type session struct {
	Grant
	all   *Sessions
	bound time.Time       // no longer than this, renewed or not; zero: no bound
	ctx   context.Context // the lease's: it has ended when the session is over
	end   context.CancelCauseFunc

	mu       sync.Mutex
	expires  time.Time   // as last confirmed; zero: never
	failing  error       // why the last renewal was not confirmed; nil: it was
	released bool        // a release by somebody else was heard
	expiry   *time.Timer // of its own, so that a renewal that hangs cannot delay the loss; nil: not started
	renewal  *time.Timer
	unwatch  func()
}

// startDelay is the delayed start of a session's work: one that ends sooner costs no subscription.
const startDelay = 100 * time.Millisecond

// Lease begins a session. The lease's context has the values of ctx. A grant whose answer took longer than its lease is given back,
// and the error is an [ErrUnavailable].
func (all *Sessions) Lease(ctx context.Context, r Request, g Grant) (*Lease, error) {
	s := &session{Grant: g, all: all}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.confirmedLocked(g.Asked)
	if r.Renew != nil {
		s.bound = time.Now().Add(*r.Renew)
	}
	s.ctx, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	switch end := s.untilLocked(); {
	case end.IsZero() && g.Watch == nil: // nothing to keep
	case g.Lease > 0 && !time.Now().Before(end):
		all.compensate(g)
		return nil, fmt.Errorf("%w: the lease was over when its grant arrived", ErrUnavailable)
	case time.Until(end) > 10*startDelay:
		s.renewal = time.AfterFunc(startDelay, s.start)
	default:
		s.renewal = time.AfterFunc(0, s.start)
	}
	return &Lease{ctx: s.ctx, token: g.Token, tokens: g.Tokens, keeper: s}, nil
}

func (s *session) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	s.expiry = time.AfterFunc(time.Until(s.untilLocked()), s.expire)
	first := time.Until(s.Asked.Add(s.Lease / 3))
	if !s.Renewed {
		first = math.MaxInt64 // until something is heard, and the server does not answer
	}
	s.renewal = time.AfterFunc(first, func() { s.renew(false) })
	if s.Watch != nil {
		s.unwatch = s.Watch(func(released bool) { go s.renew(released) })
	}
}

// renew asks the server, when it is time or when something was heard. A renewal without an answer is tried again sooner: the expiry
// decides when that was too late.
func (s *session) renew(released bool) {
	s.mu.Lock()
	s.released = s.released || released
	if s.failing == nil {
		s.failing = errNoAnswer
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
	case errors.Is(err, ErrGone) && s.released:
		s.loseLocked(fmt.Errorf("%w: %s", ErrForced, s.Key))
	case errors.Is(err, ErrLost):
		s.loseLocked(err)
	case err != nil:
		s.failing = err
		s.renewal.Reset(min(max(s.Lease/12, time.Millisecond), time.Second))
	case s.Renewed:
		s.confirmedLocked(asked)
		s.expiry.Reset(time.Until(s.untilLocked()))
		s.renewal.Reset(s.Lease / 3)
	default:
		s.released = false
	}
}

var errNoAnswer = errors.New("the last request has no answer yet")

// confirmedLocked counts the lease from when it was asked for, less what the two clocks may drift apart in it: one per cent, and
// the millisecond to which Redis keeps expiries.
func (s *session) confirmedLocked(asked time.Time) {
	if s.failing, s.released = nil, false; s.Lease > 0 {
		s.expires = asked.Add(s.Lease - s.Lease/100 - time.Millisecond)
	}
}

func (s *session) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.untilLocked()
	switch left := time.Until(end); {
	case s.ctx.Err() != nil:
	case left > 0: // it was renewed at the last moment
		s.expiry.Reset(left)
	case s.Renewed && s.failing != nil && !end.Equal(s.bound):
		s.loseLocked(fmt.Errorf("%w: %w", ErrUnreachable, s.failing))
	default:
		s.loseLocked(ErrExpired)
	}
}

// loseLocked ends the context before anything else happens. The server may still have the key, or callers wait for it that nobody has
// notified.
func (s *session) loseLocked(cause error) {
	s.endLocked(cause)
	s.all.compensate(s.Grant) // also when it is gone
}

func (s *session) endLocked(cause error) {
	s.end(cause)
	if s.renewal != nil {
		s.renewal.Stop()
	}
	if s.expiry != nil {
		s.expiry.Stop()
	}
	if s.unwatch != nil {
		s.unwatch()
	}
}

// release implements keeper. Nobody may rely on the lock from its beginning on, whatever the server will say.
func (s *session) release(ctx context.Context) (others int, err error) {
	s.mu.Lock()
	s.endLocked(nil)
	s.mu.Unlock()
	if lost := loss(s.ctx); lost != nil || s.Release == nil {
		return 0, lost
	}
	others, err = s.Release(context.WithoutCancel(ctx))
	if errors.Is(err, ErrUnavailable) {
		s.all.compensate(s.Grant)
	}
	return others, err
}

// until implements keeper.
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

// Sessions keeps the leases that one strategy has granted, and ends with it.
type Sessions struct {
	ctx        context.Context
	close      context.CancelFunc
	mu         sync.Mutex // orders the begin of background work and Close
	background sync.WaitGroup
}

// NewSessions returns the sessions of a strategy that is opened.
func NewSessions() *Sessions {
	ctx, end := context.WithCancel(context.Background())
	return &Sessions{ctx: ctx, close: end}
}

// Close ends the repeated releases. Leases that are held stay held, and can be released.
func (all *Sessions) Close() {
	all.mu.Lock()
	all.close()
	all.mu.Unlock()
	all.background.Wait()
}

// compensate releases in the background what the server may still have: until it confirms that, or the lease has surely ended.
// After a failover the new master would keep the key although nobody holds it.
func (all *Sessions) compensate(g Grant) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if g.Release == nil || all.ctx.Err() != nil {
		return
	}
	all.background.Go(func() {
		ctx, cancel := context.WithTimeout(all.ctx, 2*g.Lease)
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
