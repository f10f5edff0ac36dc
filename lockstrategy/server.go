package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

// server is one Redis. After a request that was not answered in time it is only pinged, until it answers. A server that hangs keeps every
// request. When it goes on, it executes all of them, for callers that have left.
type server struct {
	client   redis.UniversalClient
	request  time.Duration // longest wait for one answer
	sessions *Sessions     // whose background pings
	hangs    atomic.Pointer[hang]
}

// hang is the time for which a server gives no answer.
type hang struct{ over chan struct{} } // closed at its end

var errHanging = errors.New("it has not answered the last requests in time")

// ask sends a request once, whatever becomes of ctx: an answer must not get lost.
func (s *server) ask(ctx context.Context, request func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(replies.SendOnce(context.WithoutCancel(ctx)), s.request)
	defer cancel()
	err := request(ctx)
	if timedOut(err) && s.pingable() {
		if h := (&hang{make(chan struct{})}); s.hangs.CompareAndSwap(nil, h) {
			s.sessions.inBackground(func() { s.ping(h) })
		}
	}
	return err
}

// pingable reports whether one ping tells that all keys are served. A cluster is several servers.
func (s *server) pingable() bool {
	_, cluster := s.client.(*redis.ClusterClient)
	return !cluster
}

// hanging reports whether the server is only pinged. After Close nothing pings it, and leases that are held still need it.
func (s *server) hanging() bool { return s.hangs.Load() != nil && s.sessions.ctx.Err() == nil }

// answers waits until the server does not hang, or ctx ends.
func (s *server) answers(ctx context.Context) error {
	h := s.hangs.Load()
	if h == nil {
		return nil
	}
	select {
	case <-h.over:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// late is the compensating release of an acquire without an answer. A server that hangs may execute that acquire when it goes on, so
// the release is sent then, however late.
func (s *server) late(g Grant) Grant {
	if !s.pingable() {
		return g
	}
	return Grant{Key: g.Key, Release: func(ctx context.Context) (listeners int, err error) {
		if err := s.answers(ctx); err != nil {
			return 0, fmt.Errorf("%w: %s: %w", ErrUnavailable, s, err)
		}
		return g.Release(ctx)
	}}
}

// ready waits as answers does, for the time of one request at most.
func (s *server) ready(ctx context.Context) error {
	if !s.hanging() {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.request, errHanging)
	defer cancel()
	if err := s.answers(ctx); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return nil
}

// ping asks a server that hangs until it answers, or cannot be reached. It pauses, because a client may repeat its last timeout without
// asking (TestRedLockPingsWithPauses).
func (s *server) ping(h *hang) {
	defer close(h.over)
	defer s.hangs.Store(nil)
	for {
		ctx, cancel := context.WithTimeout(s.sessions.ctx, s.request)
		err := s.client.Ping(ctx).Err()
		cancel()
		if !timedOut(err) {
			return
		}
		select {
		case <-s.sessions.ctx.Done():
			return
		case <-time.After(s.request / 4):
		}
	}
}

func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// String is the server's address.
func (s *server) String() string {
	if single, ok := s.client.(*redis.Client); ok {
		return single.Options().Addr
	}
	return fmt.Sprint(s.client)
}
