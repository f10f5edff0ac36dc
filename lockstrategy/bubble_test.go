package lockstrategy

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
)

const (
	// FakePoll is the poll interval of those that wait for a fake whose waiters nobody can count.
	FakePoll = 50 * time.Millisecond
	// FakeYield is how long a fake lets others go first that it can count.
	FakeYield = 2 * time.Millisecond
)

// fake is a backend in the time of a synctest bubble: every key is free, and the test says how requests end. Its leases
// are kept by real sessions.
type fake struct {
	keeper   *Keeper
	lease    time.Duration
	number   uint64 // of the next grant; 0: none
	grants   atomic.Int32
	renewals atomic.Int32
	releases atomic.Int32
	others   int                         // that a release notifies; below 0: unknown
	panics   atomic.Bool                 // a release panics
	acquire  func(Request) error         // nil: every key is free
	answers  func()                      // after a grant; nil: immediately
	renew    func(context.Context) error // nil: it is confirmed
	release  error                       // nil: it is confirmed
	watch    func(notify func(bool)) (stop func())
}

func newFake(t *testing.T, lease time.Duration) *fake {
	f := &fake{keeper: NewKeeper(), lease: lease}
	t.Cleanup(f.keeper.Close)
	return f
}

// Acquire implements Strategy.
func (f *fake) Acquire(ctx context.Context, key string, options ...Option) (*Lease, error) {
	request, err := NewRequest(options...)
	if err != nil {
		return nil, notAcquired(key, err)
	}
	if f.acquire != nil {
		if err := f.acquire(request); err != nil {
			return nil, notAcquired(key, err)
		}
	}
	f.grants.Add(1)
	g := Grant{Key: key, Asked: time.Now(), Number: f.number, Owner: fakeOwner{f}}
	if f.watch != nil {
		g.Owner = watchedOwner{fakeOwner{f}}
	}
	g.Expiry, g.Renewed = request.Lease(f.lease)
	if f.answers != nil {
		f.answers()
	}
	return f.keeper.Keep(ctx, request, g)
}

type fakeOwner struct{ *fake }

func (f fakeOwner) Renew(ctx context.Context) error {
	f.renewals.Add(1)
	if f.renew == nil {
		return nil
	}
	return f.renew(ctx)
}

func (f fakeOwner) Release(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.releases.Add(1)
	if f.panics.Load() {
		panic("oops")
	}
	return f.release
}

func (f fakeOwner) Others() int { return f.others }

func (f fakeOwner) Yield(ctx context.Context) {
	if f.others < 0 {
		Polled(FakePoll).Yield(ctx)
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(FakeYield):
	}
}

type watchedOwner struct{ fakeOwner }

func (w watchedOwner) Watch(notify func(bool)) (stop func()) { return w.watch(notify) }

func mustAcquire(t *testing.T, s Strategy, key string, options ...Option) *Lease {
	t.Helper()
	lease, err := s.Acquire(context.Background(), key, options...)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func mustRelease(t *testing.T, l *Lease) {
	t.Helper()
	if err := l.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// wait lets a caller wait for key in c, and returns when it does.
func wait(t *testing.T, c interface {
	Strategy
	Waiting() int
}, options ...Option) <-chan *Lease {
	t.Helper()
	before, granted := c.Waiting(), make(chan *Lease, 1)
	go func() {
		lease, _ := c.Acquire(t.Context(), "k", options...)
		granted <- lease
	}()
	synctest.Wait()
	if c.Waiting() != before+1 {
		t.Fatal("it does not wait")
	}
	return granted
}

// inBubble runs f in a synctest bubble with a Redis in memory.
func inBubble(t *testing.T, f func(t *testing.T, server *miniredis.Miniredis)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := miniredis.NewMiniRedis()
		server.ClockTTL(true)
		defer func() {
			synctest.Wait() // a connection in the background is made, or has failed
			server.Close()
		}()
		f(t, server)
	})
}

// inMemory connects to a server in the bubble.
func inMemory(t *testing.T, server *miniredis.Miniredis) *redis.Client {
	return connect(t, func(context.Context, string, string) (net.Conn, error) { return server.Dial() })
}

func connect(t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *redis.Client {
	client := testenv.InBubble(dial)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// slowNode is a hook of a client that makes its node answer late or not at all.
type slowNode struct {
	away     atomic.Bool  // it cannot be asked
	mute     atomic.Bool  // it executes a request for the key, and no release; its answers are lost
	late     atomic.Int64 // how much later a request arrives
	sent     atomic.Int64 // requests under way
	most     atomic.Int64 // at the same time
	commands string       // of which, separated by spaces; empty: all
}

var errLost = &net.OpError{Op: "read", Err: errors.New("the answer is lost")}

func (n *slowNode) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (n *slowNode) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (n *slowNode) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if n.away.Load() {
			return &net.OpError{Op: "dial", Err: errors.New("the node is away")}
		}
		switch name := cmd.Name(); {
		case !n.mute.Load():
		case name == "set":
			_ = next(ctx, cmd)
			return errLost
		case strings.HasPrefix(name, "eval"):
			return errLost
		}
		late := time.Duration(n.late.Load())
		if late == 0 || n.commands != "" && !slices.Contains(strings.Fields(n.commands), strings.TrimSuffix(cmd.Name(), "sha")) {
			return next(ctx, cmd)
		}
		n.most.Store(max(n.most.Load(), n.sent.Add(1)))
		defer n.sent.Add(-1)
		select {
		case <-time.After(late):
			return next(ctx, cmd)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
