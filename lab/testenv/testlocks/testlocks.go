// Package testlocks opens locks, and clients of servers, for the tests of the locks.
package testlocks

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/locktest"
	"locklab/lockstrategy/locktest/bubble"
	"locklab/versions"
)

// AloneAndQueued has the two ways in which every lock conforms: alone, and behind a queue, which promises more.
var AloneAndQueued = map[string]bool{"alone": false, "queued": true}

// InLoop leaves the cases without a queue out of the inner loop, where they cost seconds: a queue's are the same and more.
func InLoop(t *testing.T, queued bool) {
	t.Helper()
	if !queued {
		testenv.Slow(t)
	}
}

// OnServer is for a store that is a process of its own. There, `make test` has a queue's cases: they are the same and more.
func OnServer(t *testing.T, queued bool) {
	t.Helper()
	if !queued {
		testenv.Check(t, testenv.Whole)
	}
}

// BubbleServer starts a miniredis in the bubble of a test, and returns what connects to it.
func BubbleServer(t *testing.T) (dial func() (net.Conn, error)) {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	t.Cleanup(func() {
		synctest.Wait() // a connection in the background is made, or has failed
		server.Close()
	})
	return server.Dial
}

// BubbleClient opens a client in a bubble, behind a wire if there is one.
func BubbleClient(t *testing.T, wire *locktest.Wire, dial func() (net.Conn, error)) *redis.Client {
	near := func(context.Context, string, string) (net.Conn, error) { return dial() }
	if wire != nil {
		near = wire.Before(t, dial)
	}
	c := bubble.Dial(near)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Opened is a client of a lock that ends with the test, behind a queue if there is to be one.
func Opened(t *testing.T, queued bool, s lockstrategy.Strategy, end func() error, bounds localqueue.HandOff) locktest.Client {
	t.Helper()
	t.Cleanup(func() { _ = end() })
	if !queued {
		return locktest.Client{Strategy: s, Close: func() { _ = end() }}
	}
	queue := Must(localqueue.New(s, bounds))(t)
	t.Cleanup(queue.Close)
	return locktest.Client{Strategy: queue, Queue: queue, Close: func() { queue.Close(); _ = end() }}
}

// Behind is the address of a server behind a wire, if there is one.
func Behind(t *testing.T, wire *locktest.Wire, addr string) string {
	if wire == nil {
		return addr
	}
	return wire.To(t, addr)
}

// Must fails the test unless a question was answered.
func Must[T any](answer T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

// Counter counts the commands that a server has executed for a client, but for those with which a connection
// begins. One that asks for a script that the server has not got is none.
type Counter struct{ n atomic.Int64 }

// Count returns how many there were.
func (c *Counter) Count() int { return int(c.n.Load()) }

// DialHook implements [redis.Hook].
func (c *Counter) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (c *Counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if name := cmd.Name(); (err == nil || errors.Is(err, redis.Nil)) && name != "hello" && name != "client" {
			c.n.Add(1)
		}
		return err
	}
}

// ProcessPipelineHook counts nothing: pipelines are how connections begin.
func (c *Counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Request is long: the machine is busy with all the other cases, and may stall. Beside a short lease, a request that hangs leaves time for
// another.
func Request(s locktest.Settings) time.Duration { return cmp.Or(s.Request, Patient(s.Lease)) }

// Patient is how long a test waits for an answer beside a lease, unless a late answer is its subject; 0: the default lease.
func Patient(lease time.Duration) time.Duration {
	return min(20*time.Second, cmp.Or(lease, lockstrategy.DefaultLease)*3/5)
}

// Open opens a strategy that ends with the test. It waits long for an answer, unless the test names a time: a busy machine delays one for
// longer than the default.
func Open(t testing.TB, name string, b versions.Backends) *versions.Opened {
	t.Helper()
	if name == versions.NameRedLock {
		b.NodeTimeout = cmp.Or(b.NodeTimeout, cmp.Or(b.Expiry, lockstrategy.DefaultLease)/2)
	} else {
		b.Request = cmp.Or(b.Request, Patient(b.Expiry))
	}
	opened, err := versions.Open(name, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// Client opens a client of one server that ends with the test.
func Client(t testing.TB, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// InBackground acquires key for a caller that may wait. Without a lease the test has failed, and nil is sent.
func InBackground(t testing.TB, lock lockstrategy.Strategy, key string, options ...lockstrategy.Option) <-chan *lockstrategy.Lease {
	granted := make(chan *lockstrategy.Lease, 1)
	testenv.Go(t, func(ctx context.Context) {
		lease, err := lock.Acquire(ctx, key, options...)
		if err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		granted <- lease
	})
	return granted
}

// Served waits for the lease of a caller in the background.
func Served(t testing.TB, waiter <-chan *lockstrategy.Lease) *lockstrategy.Lease {
	t.Helper()
	lease := <-waiter
	if lease == nil {
		t.FailNow() // InBackground has said why
	}
	return lease
}

// Released gives a lease back; nil: InBackground has said why there is none.
func Released(t testing.TB, lease *lockstrategy.Lease) {
	t.Helper()
	if lease == nil {
		t.Error("there is no lease to release")
	} else if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// Granted acquires key from a server that may be slow: it has just been started, on a machine that is busy.
func Granted(t *testing.T, lock lockstrategy.Strategy, key string) (lease *lockstrategy.Lease) {
	t.Helper()
	testenv.Eventually(t, "it grants "+key, func() bool {
		var err error
		lease, err = lock.Acquire(t.Context(), key)
		if err != nil && !errors.Is(err, lockstrategy.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
	return lease
}

// RedLockNodes starts five independent nodes; real: each is a redis-server.
func RedLockNodes(t *testing.T, real bool) []*servers.Node {
	t.Helper()
	testenv.Slow(t)
	nodes, err := testenv.Stack(t).RedLock(testenv.Context(t), 5, real)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

// Clients opens a client of each node.
func Clients(t testing.TB, nodes []*servers.Node) []redis.UniversalClient {
	var all []redis.UniversalClient
	for _, node := range nodes {
		all = append(all, Client(t, node.Addr))
	}
	return all
}
