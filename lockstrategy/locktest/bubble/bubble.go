// Package bubble has what tests of locks need in a synctest bubble, where time is fake: a backend whose keys are free, a Redis in memory,
// and clients whose server is slow or away.
package bubble

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

	"locklab/lockstrategy"
	"locklab/lockstrategy/session"
)

const (
	// Poll is the poll interval of those that wait for a [Backend] whose waiters nobody can count.
	Poll = 50 * time.Millisecond
	// Yield is how long a [Backend] lets others go first that it can count.
	Yield = 2 * time.Millisecond
)

// Backend is one in the time of a synctest bubble: every key is free, and the test says how requests end. Its leases
// are kept by real sessions.
type Backend struct {
	Keeper       *session.Keeper
	Lease        time.Duration
	Number       uint64 // of the next grant; 0: none
	Grants       atomic.Int32
	Renewals     atomic.Int32
	Releases     atomic.Int32
	Others       int                              // that a release notifies; below 0: unknown
	gone         atomic.Bool                      // see Lose
	Panics       atomic.Bool                      // a release panics
	OnAcquire    func(lockstrategy.Request) error // nil: every key is free
	OnGrant      func()                           // after a grant; nil: immediately
	OnRenew      func(context.Context) error      // nil: it is confirmed
	ReleaseError error                            // nil: it is confirmed
	OnWatch      func(notify func(bool)) (stop func())
}

// New returns a backend that ends with the test.
func New(t *testing.T, lease time.Duration) *Backend {
	f := &Backend{Keeper: session.NewKeeper(), Lease: lease}
	t.Cleanup(f.Keeper.Close)
	return f
}

// Acquire implements Strategy.
func (f *Backend) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	request, err := lockstrategy.NewRequest(options...)
	if err != nil {
		return nil, lockstrategy.NotAcquired(key, err)
	}
	if f.OnAcquire != nil {
		if err := f.OnAcquire(request); err != nil {
			return nil, lockstrategy.NotAcquired(key, err)
		}
	}
	f.Grants.Add(1)
	g := session.Grant{Key: key, Asked: time.Now(), Number: f.Number, Owner: fakeOwner{f}}
	if f.OnWatch != nil {
		g.Owner = watchedOwner{fakeOwner{f}}
	}
	g.Expiry, g.Renewed = request.Lease(f.Lease)
	if f.OnGrant != nil {
		f.OnGrant()
	}
	return f.Keeper.Keep(ctx, request, g)
}

// Lose returns when the leases that are held have been lost, because the server has no longer got their keys.
func (f *Backend) Lose() {
	f.gone.Store(true)
	time.Sleep(f.Lease/3 + time.Millisecond) // of the bubble: they have been renewed
	synctest.Wait()
	f.gone.Store(false)
}

type fakeOwner struct{ *Backend }

func (f fakeOwner) Renew(ctx context.Context) error {
	f.Renewals.Add(1)
	if f.gone.Load() {
		return lockstrategy.ErrGone
	}
	if f.OnRenew == nil {
		return nil
	}
	return f.OnRenew(ctx)
}

func (f fakeOwner) Release(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.Releases.Add(1)
	if f.Panics.Load() {
		panic("oops")
	}
	return f.ReleaseError
}

func (f fakeOwner) Others() int { return f.Backend.Others }

func (f fakeOwner) Yield(ctx context.Context) {
	if f.Backend.Others < 0 {
		session.Polled(Poll).Yield(ctx)
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(Yield):
	}
}

type watchedOwner struct{ fakeOwner }

func (w watchedOwner) Watch(notify func(bool)) (stop func()) { return w.OnWatch(notify) }

// Acquire acquires key, or fails the test.
func Acquire(t *testing.T, s lockstrategy.Strategy, key string, options ...lockstrategy.Option) *lockstrategy.Lease {
	t.Helper()
	lease, err := s.Acquire(context.Background(), key, options...)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// Release gives a lease back, or fails the test.
func Release(t *testing.T, l *lockstrategy.Lease) {
	t.Helper()
	if err := l.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Wait lets a caller wait for key in c, and returns when it does.
func Wait(t *testing.T, c interface {
	lockstrategy.Strategy
	Waiting() int
}, options ...lockstrategy.Option,
) <-chan *lockstrategy.Lease {
	t.Helper()
	before, granted := c.Waiting(), make(chan *lockstrategy.Lease, 1)
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

// Redis runs f in a synctest bubble with a Redis in memory.
func Redis(t *testing.T, f func(t *testing.T, server *miniredis.Miniredis)) {
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

// Client connects to a server in the bubble.
func Client(t *testing.T, server *miniredis.Miniredis) *redis.Client {
	return Connect(t, func(context.Context, string, string) (net.Conn, error) { return server.Dial() })
}

// Connect returns a client that connects by dial.
func Connect(t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *redis.Client {
	client := Dial(dial)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// SlowNode is a hook of a client that makes its node answer late or not at all.
type SlowNode struct {
	Away     atomic.Bool  // it cannot be asked
	Mute     atomic.Bool  // it executes a request for the key, and no release; its answers are lost
	Late     atomic.Int64 // how much later a request arrives
	Commands string       // of which, separated by spaces; empty: all
}

var errLost = &net.OpError{Op: "read", Err: errors.New("the answer is lost")}

// DialHook implements [redis.Hook].
func (n *SlowNode) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessPipelineHook implements [redis.Hook].
func (n *SlowNode) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements [redis.Hook].
func (n *SlowNode) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if n.Away.Load() {
			return &net.OpError{Op: "dial", Err: errors.New("the node is away")}
		}
		switch name := cmd.Name(); {
		case !n.Mute.Load():
		case name == "set":
			_ = next(ctx, cmd)
			return errLost
		case strings.HasPrefix(name, "eval"):
			return errLost
		}
		late := time.Duration(n.Late.Load())
		if late == 0 || n.Commands != "" && !slices.Contains(strings.Fields(n.Commands), strings.TrimSuffix(cmd.Name(), "sha")) {
			return next(ctx, cmd)
		}
		select {
		case <-time.After(late):
			return next(ctx, cmd)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
