package lockstrategy_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"gorm.io/gorm"
	"gorm.io/gorm/utils/tests"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
)

// The cases of the conformance suite do nothing most of their time.
func TestMain(m *testing.M) {
	testenv.ServeNames()
	testenv.MainParallel(m, 20)
}

// None is no lock, so it does not conform.
func TestNoneRefusesAContextThatHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (lockstrategy.None{}).Acquire(ctx, "k"); !errors.Is(err, lockstrategy.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOpenRefusesWhatCannotWork(t *testing.T) {
	for _, c := range []struct {
		name     string
		strategy string
		backends lockstrategy.Backends
		want     string
	}{
		{"an unknown name", "postgres", lockstrategy.Backends{}, `no strategy "postgres"`},
		{
			"a request timeout that leaves no second try", lockstrategy.NameRedis,
			lockstrategy.Backends{Expiry: 3 * time.Second, Request: 2 * time.Second},
			"over one and a half times the request timeout",
		},
		{
			"a negative request timeout", lockstrategy.NameRedis,
			lockstrategy.Backends{Expiry: 3 * time.Second, Request: -time.Second},
			"request timeout -1s",
		},
		{
			"a node timeout that leaves no second try", lockstrategy.NameRedLock,
			lockstrategy.Backends{Nodes: []redis.UniversalClient{nil}, Expiry: 3 * time.Second, NodeTimeout: 2 * time.Second},
			"counts as request timeout: lock: lease 3s, request timeout 2s",
		},
		{"RedLock without nodes", lockstrategy.NameRedLock, lockstrategy.Backends{}, "needs at least one node"},
		{"ZooKeeper without servers", lockstrategy.NameZooKeeper, lockstrategy.Backends{}, "at least one server"},
		{"Memcached without a client", lockstrategy.NameMemcached, lockstrategy.Backends{}, "needs a client"},
		{
			"a Memcached client that waits longer than a request may take", lockstrategy.NameMemcached,
			lockstrategy.Backends{Memcached: &memcache.Client{Timeout: time.Minute}},
			"waits 1m0s for an answer, and the request timeout is 2s: set its Timeout",
		},
		{"a database lock without a database", lockstrategy.NameDatabase, lockstrategy.Backends{}, "no database"},
		{
			"a database of another kind", lockstrategy.NameDatabase,
			lockstrategy.Backends{Database: &gorm.DB{Config: &gorm.Config{Dialector: tests.DummyDialector{}}}},
			`kind "dummy"; MySQL, MariaDB and SQLite`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := lockstrategy.Open(c.strategy, c.backends); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// A lease has the same bounds in every strategy. A longer one would be too large a number for one server or another.
func TestTheBoundsOfALease(t *testing.T) {
	c, db := client(t, "127.0.0.1:1"), sqliteFile(t)(t, locktest.Settings{})
	for _, name := range []string{
		lockstrategy.NameRedis, lockstrategy.NameRedLock, lockstrategy.NameDatabase, lockstrategy.NameZooKeeper, lockstrategy.NameEtcd,
		lockstrategy.NameMemcached,
	} {
		for _, lease := range []time.Duration{math.MinInt64, time.Millisecond, 24*time.Hour + 1, math.MaxInt64} {
			_, err := lockstrategy.Open(name, lockstrategy.Backends{Expiry: lease})
			if err == nil || !strings.Contains(err.Error(), "the lease must be 10ms to 24h0m0s") {
				t.Errorf("%s with a lease of %s: got %v", name, lease, err)
			}
		}
		for _, lease := range []time.Duration{10 * time.Millisecond, 24 * time.Hour} {
			lock, err := lockstrategy.Open(name, lockstrategy.Backends{
				Expiry: lease, Redis: c, Nodes: []redis.UniversalClient{c}, Database: db, ZooKeeper: []string{"127.0.0.1:1"},
				Etcd: new(clientv3.Client), Memcached: new(memcache.Client),
			})
			if err != nil {
				t.Errorf("%s with a lease of %s: %v", name, lease, err)
				continue
			}
			if (lock.Ping != nil) != (name == lockstrategy.NameZooKeeper) { // the others have been given a client that can
				t.Errorf("%s asks its servers: %t", name, lock.Ping != nil)
			}
			_ = lock.Close()
		}
	}
}

// open opens a strategy that ends with the test. It waits long for an answer, unless the test names a time: a busy machine delays one for
// longer than the default.
func open(t testing.TB, name string, b lockstrategy.Backends) *lockstrategy.Opened {
	t.Helper()
	if name == lockstrategy.NameRedLock {
		b.NodeTimeout = cmp.Or(b.NodeTimeout, cmp.Or(b.Expiry, lockstrategy.DefaultLease)/2)
	} else {
		b.Request = cmp.Or(b.Request, patient(b.Expiry))
	}
	opened, err := lockstrategy.Open(name, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// client opens a client of one server that ends with the test.
func client(t testing.TB, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// tokensGrow has 3000 callers wait behind a holder. A token of ZooKeeper has room for 256 hand-offs. again acquires once more.
func tokensGrow(t *testing.T, lock *lockstrategy.Opened) (again func() error) {
	t.Helper()
	var last atomic.Uint64
	release := func(lease *lockstrategy.Lease) {
		if token := lease.FencingToken(); token <= last.Load() || token >= 1<<53 {
			t.Errorf("token %d was followed by %d", last.Load(), token)
		}
		last.Store(lease.FencingToken())
		released(t, lease)
	}
	again = func() error {
		lease, err := lock.Acquire(t.Context(), "k")
		if err == nil {
			release(lease)
		}
		return err
	}
	first := granted(t, lock, "k")
	var callers sync.WaitGroup
	for range 3000 {
		callers.Go(func() {
			if err := again(); err != nil {
				t.Error(err)
			}
		})
	}
	testenv.Eventually(t, "all wait", func() bool { return lock.Cohort.Waiting() == 3000 })
	release(first)
	callers.Wait()
	return again
}

// inBackground acquires key for a caller that may wait. Without a lease the test has failed, and nil is sent.
func inBackground(t testing.TB, lock lockstrategy.Strategy, key string, options ...lockstrategy.Option) <-chan *lockstrategy.Lease {
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

// served waits for the lease of a caller in the background.
func served(t testing.TB, waiter <-chan *lockstrategy.Lease) *lockstrategy.Lease {
	t.Helper()
	lease := <-waiter
	if lease == nil {
		t.FailNow() // inBackground has said why
	}
	return lease
}

// released gives a lease back; nil: inBackground has said why there is none.
func released(t testing.TB, lease *lockstrategy.Lease) {
	t.Helper()
	if lease == nil {
		t.Error("there is no lease to release")
	} else if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
