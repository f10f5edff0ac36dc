package pview_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/pview"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// client returns a client of one server that is closed with the test.
func client(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func counter(c *redis.Client) *pview.Counter {
	return pview.NewCounter(c, func() redis.UniversalClient { return c })
}

func set(t *testing.T, c *pview.Counter, value int64) {
	t.Helper()
	if err := c.Set(t.Context(), value); err != nil {
		t.Fatal(err)
	}
}

// wantValue fails unless the counter is want.
func wantValue(t *testing.T, c *pview.Counter, want int64) {
	t.Helper()
	if got, err := c.Get(t.Context()); err != nil || got != want {
		t.Errorf("the counter is %d (%v), want %d", got, err, want)
	}
}

// runTogether calls increment n times at once. It returns how often each value was written.
func runTogether(t *testing.T, n int, increment func(i int) (pview.View, error)) map[int64]int {
	t.Helper()
	views, errs := make([]pview.View, n), make([]error, n)
	start := make(chan struct{})
	var requests sync.WaitGroup
	for i := range n {
		requests.Go(func() {
			<-start
			views[i], errs[i] = increment(i)
		})
	}
	close(start)
	requests.Wait()
	written := make(map[int64]int)
	for i, view := range views {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		written[view.Value]++
	}
	return written
}

func TestCounter(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		addr := testenv.Redis(t, real).Addr
		for _, c := range []struct {
			name string
			test func(t *testing.T, addr string)
		}{
			{"one increment", testIncrement},
			{"interleaved increments lose one", testInterleaving},
			{"a lock loses none", testLock},
			{"atomic increments lose none", testAtomic},
			{"a paused holder is refused", testPausedHolder},
			{"a stale holder that writes first is refused", testStaleHolderWritesFirst},
			{"fencing tokens are checked", testTokenOrder},
			{"the newest fencing token stays", testNewestTokenStays},
			{"set takes over the registration", testSetTakesOver},
			{"a lost fencing token", testLostToken},
			{"a token granted twice around another lock", testTokenGrantedTwice},
			{"a registration without a name", testRegistrationWithoutName},
			{"one command reads and one writes", testCommands},
			{"the lock is not granted", testNotGranted},
			{"the lock is lost", testLockLost},
			{"only GetStale reads a replica", testReplica},
		} {
			t.Run(c.name, func(t *testing.T) {
				if err := client(t, addr).FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				c.test(t, addr)
			})
		}
	})
}

func testIncrement(t *testing.T, addr string) {
	const queue, token = 20 * time.Millisecond, 1 << 40
	c := counter(client(t, addr))
	wantValue(t, c, 0) // the key does not exist
	set(t, c, 41)
	var key string
	start := time.Now()
	lock := testenv.LockerFunc(func(ctx context.Context, k string, fn func(context.Context, uint64) error) error {
		key = k
		<-time.After(queue)
		wantValue(t, c, 41) // not read before the grant
		err := fn(ctx, token)
		wantValue(t, c, 42) // written before the release
		return err
	})
	view, err := c.Increment(t.Context(), "v3", lock)
	took := time.Since(start)
	if err != nil || view.Value != 42 || view.Token != token || key != pview.LockKey {
		t.Errorf("got %+v, %v under the lock %s, want 42 under %s with the fencing token %d", view, err, key, pview.LockKey, token)
	}
	if view.Waited < queue || view.Held <= 0 || view.Waited+view.Held > took {
		t.Errorf("waited %s and held %s of %s, with a queue of %s", view.Waited, view.Held, took, queue)
	}
	stale, err := c.GetStale(t.Context())
	if err != nil || stale != 42 {
		t.Errorf("the replica, which is the master, has %d (%v)", stale, err)
	}
}

// readsFirst is a hook that delays each SET until all n GETs are done.
type readsFirst struct{ reads sync.WaitGroup }

func (h *readsFirst) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *readsFirst) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *readsFirst) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "set" {
			h.reads.Wait()
		}
		err := next(ctx, cmd)
		if cmd.Name() == "get" {
			h.reads.Done()
		}
		return err
	}
}

// A lost update: both instances read before one writes.
func testInterleaving(t *testing.T, addr string) {
	set(t, counter(client(t, addr)), 10)
	hook := new(readsFirst)
	hook.reads.Add(2)
	var instances [2]*pview.Counter
	for i := range instances {
		c := client(t, addr)
		c.AddHook(hook)
		instances[i] = counter(c)
	}
	written := runTogether(t, 2, func(i int) (pview.View, error) { return instances[i].Increment(t.Context(), "v3", testenv.NoLock) })
	if written[11] != 2 {
		t.Errorf("written: %v, want 11 twice", written)
	}
	wantValue(t, counter(client(t, addr)), 11)
}

func testLock(t *testing.T, addr string) {
	lock := testenv.Mutex()
	instances := [2]*pview.Counter{counter(client(t, addr)), counter(client(t, addr))}
	written := runTogether(t, 100, func(i int) (pview.View, error) { return instances[i%2].Increment(t.Context(), "v3", lock) })
	if len(written) != 100 {
		t.Errorf("100 views wrote %d values: %v", len(written), written)
	}
	wantValue(t, instances[0], 100)
}

func testAtomic(t *testing.T, addr string) {
	instances := [2]*pview.Counter{counter(client(t, addr)), counter(client(t, addr))}
	written := runTogether(t, 100, func(i int) (pview.View, error) { return instances[i%2].IncrementAtomic(t.Context()) })
	if len(written) != 100 {
		t.Errorf("100 views wrote %d values: %v", len(written), written)
	}
	wantValue(t, instances[0], 100)
}
