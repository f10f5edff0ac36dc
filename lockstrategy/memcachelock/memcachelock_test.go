package memcachelock_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
	"locklab/lockstrategy/memcachelock"
)

func TestMemcachedConforms(t *testing.T) {
	t.Parallel()
	for name, queued := range testlocks.AloneAndQueued {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testlocks.OnServer(t, queued)
			locktest.Run(t, memcachedBackend(t, sharedMemcached.Of(t), queued))
		})
	}
}

func memcachedBackend(t *testing.T, server *servers.Memcached, queued bool) locktest.Backend {
	admin := cacheAt(t, server.Addr)
	return locktest.Backend{
		Wired: true, Queued: queued, Yields: queued, Polls: true,
		Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			if s.Wire != nil {
				s.Wire.Loses = func(c faultproxy.Chunk) bool { return !bytes.HasPrefix(c.Data, []byte("gets ")) }
			}
			c := cacheAt(t, testlocks.Behind(t, s.Wire, server.Addr))
			c.Timeout = testlocks.Request(s)
			m := testlocks.Must(memcachelock.New(c.Client, lockstrategy.Timing{Expiry: s.Lease, Request: testlocks.Request(s)}))(t)
			client := testlocks.Opened(t, queued, m, m.Close, s.HandOff)
			client.Crash = c.crash
			client.Sent = func() int { return int(c.answers.Load()) }
			return client
		},
		Server: &locktest.Server{
			Entries: func(t *testing.T, key string) []string {
				if owner := admin.owner(t, key); owner != "" {
					return []string{owner}
				}
				return nil
			},
			Forget: func(t *testing.T, key string) { admin.evict(t, key) },
		},
	}
}

var sharedMemcached = testenv.Shared[*servers.Memcached]{
	Need:  testenv.Memcached,
	Start: func(ctx context.Context, s *servers.Stack) (*servers.Memcached, error) { return s.Memcached(ctx) },
}

// memcachedServer starts a server that ends with the test, for one that fills it, stops it, or counts all its requests.
func memcachedServer(t testing.TB, settings ...string) *servers.Memcached {
	t.Helper()
	testenv.Needs(t, testenv.Memcached)
	return testlocks.Must(testenv.Stack(t).Memcached(testenv.Context(t), settings...))(t)
}

// cache is a client of Memcached that shows its connections.
type cache struct {
	*memcache.Client
	answers atomic.Int64
	before  func(request string) // is called before each request is sent; nil: nothing is

	mu      sync.Mutex
	conns   []net.Conn
	crashed bool
}

// cacheAt returns a client that ends with the test.
func cacheAt(t testing.TB, addr string) *cache {
	t.Helper()
	c := &cache{Client: memcache.New(addr)}
	c.Timeout = 20 * time.Second
	c.DialContext = c.dial
	t.Cleanup(c.crash)
	return c
}

func (c *cache) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, conn)
	if c.crashed {
		conn.Close()
	}
	return cacheConn{conn, c}, nil
}

func (c *cache) dialled() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns)
}

// crash cuts its connections for good.
func (c *cache) crash() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.crashed = true
	for _, conn := range c.conns {
		conn.Close()
	}
}

// owner is the value of an item; "": there is none.
func (c *cache) owner(t testing.TB, key string) string {
	t.Helper()
	item, err := c.Get(key)
	if errors.Is(err, memcache.ErrCacheMiss) {
		return ""
	}
	return string(testlocks.Must(item, err)(t).Value)
}

// evict does to an item what an eviction does.
func (c *cache) evict(t testing.TB, key string) {
	t.Helper()
	if err := c.Delete(key); err != nil && !errors.Is(err, memcache.ErrCacheMiss) {
		t.Fatal(err)
	}
}

// add stores another owner's item.
func (c *cache) add(t testing.TB, key, owner string) {
	t.Helper()
	if err := c.Add(&memcache.Item{Key: key, Value: []byte(owner), Expiration: 600}); err != nil {
		t.Fatal(err)
	}
}

type cacheConn struct {
	net.Conn
	client *cache
}

func (c cacheConn) Write(request []byte) (int, error) {
	if c.client.before != nil {
		c.client.before(string(request))
	}
	return c.Conn.Write(request)
}

func (c cacheConn) Read(answer []byte) (int, error) {
	n, err := c.Conn.Read(answer)
	if n > 0 {
		c.client.answers.Add(1)
	}
	return n, err
}

// memcachedLock opens a lock on c that ends with the test. It waits for an answer as long as c does, if the lease allows that.
func memcachedLock(t testing.TB, c *cache, lease time.Duration) *memcachelock.Lock {
	t.Helper()
	c.Timeout = min(c.Timeout, testlocks.Patient(lease))
	m := testlocks.Must(memcachelock.New(c.Client, lockstrategy.Timing{Expiry: lease, Request: testlocks.Patient(lease)}))(t)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// beforeCas makes a client call do before its first cas.
func (c *cache) beforeCas(do func()) {
	var once sync.Once
	c.before = func(request string) {
		if strings.HasPrefix(request, "cas ") {
			once.Do(do)
		}
	}
}

func TestMemcachedRenewalResurrectsNothing(t *testing.T) {
	t.Parallel()
	server := sharedMemcached.Of(t)
	for name, next := range map[string]string{"evicted": "", "evicted, and another's": "another"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, admin, key := cacheAt(t, server.Addr), cacheAt(t, server.Addr), "lock:"+next
			c.beforeCas(func() {
				admin.evict(t, key)
				if next != "" {
					admin.add(t, key, next)
				}
			})
			lease := testlocks.Must(memcachedLock(t, c, 15*time.Second).Acquire(t.Context(), key))(t)
			<-lease.Context().Done()
			if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrGone) {
				t.Errorf("it was lost with %v, want ErrGone", cause)
			}
			if owner := admin.owner(t, key); owner != next {
				t.Errorf("the key's owner is %q, want %q", owner, next)
			}
		})
	}
}

func TestMemcachedReleaseFreesNobodyElsesLock(t *testing.T) {
	t.Parallel()
	server := sharedMemcached.Of(t)
	c, admin := cacheAt(t, server.Addr), cacheAt(t, server.Addr)
	lease := testlocks.Must(memcachedLock(t, c, time.Minute).Acquire(t.Context(), t.Name()))(t)
	c.beforeCas(func() {
		admin.evict(t, t.Name())
		admin.add(t, t.Name(), "another")
	})
	if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrGone) {
		t.Errorf("got %v, want ErrGone", err)
	}
	if owner := admin.owner(t, t.Name()); owner != "another" {
		t.Errorf("the key's owner is %q", owner)
	}
}

// A renewal that comes between gets and cas of a release changes the item.
func TestMemcachedReleaseDuringARenewal(t *testing.T) {
	t.Parallel()
	server := sharedMemcached.Of(t)
	c, admin := cacheAt(t, server.Addr), cacheAt(t, server.Addr)
	lease := testlocks.Must(memcachedLock(t, c, time.Minute).Acquire(t.Context(), t.Name()))(t)
	c.beforeCas(func() {
		item := testlocks.Must(admin.Get(t.Name()))(t)
		if item.Expiration = 60; admin.CompareAndSwap(item) != nil {
			t.Error("it was not renewed")
		}
	})
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if owner := admin.owner(t, t.Name()); owner != "" {
		t.Errorf("the key's owner is %q", owner)
	}
}

// The add arrives after its client's timeout, and after a release that found nothing.
func TestMemcachedAddThatArrivesLate(t *testing.T) {
	t.Parallel()
	server := memcachedServer(t)
	wire := faultproxy.New(faultproxy.TCP(server.Addr))
	t.Cleanup(wire.Close)
	c := cacheAt(t, testlocks.Must(wire.Listen())(t))
	lock := memcachedLock(t, c, time.Hour)
	c.owner(t, "lock") // there is a connection
	const timeout = time.Second
	wire.Delay(func(c faultproxy.Chunk) time.Duration {
		if bytes.HasPrefix(c.Data, []byte("add ")) {
			return 2 * timeout
		}
		return 0
	})
	c.Timeout = timeout
	if _, err := lock.Acquire(t.Context(), "lock"); !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Fatalf("got %v, want ErrUnavailable", err)
	}
	testenv.Eventually(t, "the add has arrived", func() bool { return testlocks.Must(server.Stats(t.Context()))(t)["cmd_set"] != "0" })
	admin := cacheAt(t, server.Addr)
	testenv.Eventually(t, "the key is free", func() bool { return admin.owner(t, "lock") == "" })
}

// A client that was idle has connections that ended with the server. Only one request is lost to them.
func TestMemcachedIsBackAfterARestart(t *testing.T) {
	t.Parallel()
	server := memcachedServer(t)
	c := cacheAt(t, server.Addr)
	lock := memcachedLock(t, c, time.Minute)
	c.Timeout = time.Minute // the server is stopped until all have asked
	testenv.Pause(t, server)
	var asking sync.WaitGroup
	c.MaxIdleConns = 5
	for range c.MaxIdleConns {
		asking.Go(func() { c.owner(t, "lock") })
	}
	testenv.Eventually(t, "there are five connections", func() bool { return c.dialled() == c.MaxIdleConns })
	server.Resume()
	asking.Wait()
	if _, err := server.Restart(testenv.Context(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Acquire(t.Context(), "lock"); !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Fatalf("got %v over a connection that has ended: nothing is tested", err)
	}
	if err := testlocks.Must(lock.Acquire(t.Context(), "lock"))(t).Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestMemcachedSetsTheTimeoutOfItsClient(t *testing.T) {
	c := memcache.New("127.0.0.1:1")
	lock := testlocks.Must(memcachelock.New(c, lockstrategy.Timing{Request: 100 * time.Millisecond}))(t)
	defer lock.Close()
	if c.Timeout != 100*time.Millisecond {
		t.Errorf("the client waits %s for an answer, want the request timeout of 100 ms", c.Timeout)
	}
}

// -M: it refuses, and evicts nothing. A release stores an item, so it is refused as well, and the key ends with its expiry.
func TestMemcachedThatIsFull(t *testing.T) {
	t.Parallel()
	server := memcachedServer(t, "-M", "-m", "2")
	c := cacheAt(t, server.Addr)
	lock := memcachedLock(t, c, time.Minute)
	lease := testlocks.Must(lock.Acquire(t.Context(), "lock:before"))(t)
	never := func(context.Context) (bool, error) { return false, nil }
	full := testlocks.Must(server.Fill(t.Context(), len(c.owner(t, "lock:before")), never))(t)
	if full.Refused == nil || full.Evicted > 0 {
		t.Fatalf("%+v", full)
	}
	before := c.answers.Load()
	_, refused := lock.Acquire(t.Context(), "lock:after")
	_ = lock.Close() // it waits for what was begun in the background
	if sent := c.answers.Load() - before; sent != 1 {
		t.Errorf("an add that was refused was released: %d requests", sent)
	}
	for what, err := range map[string]error{"acquire": refused, "release": lease.Release(t.Context())} {
		if !errors.Is(err, lockstrategy.ErrUnavailable) || !strings.Contains(err.Error(), "out of memory") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func TestMemcachedKeys(t *testing.T) {
	t.Parallel()
	server := sharedMemcached.Of(t)
	lock := memcachedLock(t, cacheAt(t, server.Addr), time.Minute)
	for _, key := range []string{"", "a b", "a\tb", "a\x7fb", strings.Repeat("k", 251)} {
		if _, err := lock.Acquire(t.Context(), key); err == nil || !strings.Contains(err.Error(), "1 to 250 bytes") {
			t.Errorf("%q: got %v", key, err)
		}
	}
	for _, key := range []string{"lock:order:{7}", "锁", strings.Repeat("k", 250)} {
		if err := testlocks.Must(lock.Acquire(t.Context(), key))(t).Release(t.Context()); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// The server counts the ticks of a clock, one each second: the first may come immediately, and one may be left out. So an item is kept for
// two seconds more than its lease, in whole seconds.
func TestMemcachedKeepsAnItemForLongerThanItsLease(t *testing.T) {
	t.Parallel()
	c, expiry := cacheAt(t, sharedMemcached.Of(t).Addr), ""
	lock := memcachedLock(t, c, time.Minute)
	c.before = func(request string) {
		if strings.HasPrefix(request, "add ") {
			expiry = strings.Fields(request)[3]
		}
	}
	for lease, want := range map[time.Duration]string{time.Second: "3", 1001 * time.Millisecond: "4", time.Minute: "62"} {
		testlocks.Released(t, testlocks.Must(lock.Acquire(t.Context(), t.Name(), lockstrategy.LeaseFor(lease)))(t))
		if expiry != want {
			t.Errorf("a lease of %s is an item of %s s, want %s", lease, expiry, want)
		}
	}
}
