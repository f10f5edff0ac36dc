package pview_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/pview"
)

const (
	timeout     = 50 * time.Millisecond // of a client
	maxCallTime = 30 * time.Second      // longer than any call takes
)

var lastToken atomic.Uint64

// calls returns all methods that use Redis, by name.
func calls(c *pview.Counter) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Get":       func(ctx context.Context) error { return checkNoValue(c.Get(ctx)) },
		"GetStale":  func(ctx context.Context) error { return checkNoValue(c.GetStale(ctx)) },
		"Set":       func(ctx context.Context) error { return c.Set(ctx, 1) },
		"Increment": func(ctx context.Context) error { _, err := c.Increment(ctx, "v3", testenv.NoLock); return err },
		"with a fencing token": func(ctx context.Context) error {
			_, err := c.Increment(ctx, "v3", testenv.Granted(lastToken.Add(1)))
			return err
		},
		"IncrementAtomic": func(ctx context.Context) error { _, err := c.IncrementAtomic(ctx); return err },
	}
}

// checkNoValue returns err, or another error if err comes with a value.
func checkNoValue(value int64, err error) error {
	if err != nil && value != 0 {
		return fmt.Errorf("%d views, and %s", value, err.Error()) // not wrapped: errors.Is must not match
	}
	return err
}

func testNotGranted(t *testing.T, addr string) {
	c := counter(client(t, addr))
	set(t, c, 7)
	errBusy := errors.New("busy")
	view, err := c.Increment(t.Context(), "v3", testenv.LockerFunc(func(context.Context, string, func(context.Context, uint64) error) error {
		return errBusy
	}))
	if !errors.Is(err, errBusy) || errors.Is(err, pview.ErrUnavailable) || view != (pview.View{}) {
		t.Errorf("got %+v, %v, want the locker's error", view, err)
	}
	wantValue(t, c, 7)
}

// The lock is lost before the read or after it. The write must not be sent, and the error must not blame Redis.
func testLockLost(t *testing.T, addr string) {
	errLost := errors.New("the lock is lost")
	for _, when := range []string{"before the read", "after the read"} {
		c, hook := newHookedCounter(t, addr)
		set(t, c, 7)
		lock := testenv.LockerFunc(func(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
			ctx, lose := context.WithCancelCause(ctx)
			if hook.afterRead = func() { lose(errLost) }; when == "before the read" {
				lose(errLost)
			}
			return fn(ctx, 1)
		})
		_, err := c.Increment(t.Context(), "v3", lock)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errLost) || errors.Is(err, pview.ErrUnavailable) {
			t.Errorf("%s: got %v, want context.Canceled and the cause, and not ErrUnavailable", when, err)
		}
		hook.afterRead = nil
		wantValue(t, c, 7)
	}
}

// The "replica" is an independent server here, with another value.
func testReplica(t *testing.T, addr string) {
	master, replica := client(t, addr), client(t, testenv.Redis(t, false).Addr)
	c := pview.NewCounter(master, func() redis.UniversalClient { return replica })
	set(t, c, 1)
	if err := replica.Set(t.Context(), pview.Key, 41, 0).Err(); err != nil {
		t.Fatal(err)
	}
	wantIncrement(t, c, 0, 2)
	wantIncrement(t, c, 5, 3)
	wantValue(t, c, 3)
	if got, err := c.GetStale(t.Context()); err != nil || got != 41 {
		t.Errorf("GetStale returned %d (%v), want 41", got, err)
	}
}

// Every method says that Redis is away. Only the error of a command that was not sent says that nothing was written.
func TestRedisGoesDown(t *testing.T) {
	t.Parallel()
	testenv.Engines(t, func(t *testing.T, real bool) {
		node := testenv.Redis(t, real)
		patient := client(t, node.Addr).WithTimeout(maxCallTime)
		if err := patient.Ping(t.Context()).Err(); err != nil { // opens a connection
			t.Fatal(err)
		}
		testenv.Pause(t, node)
		c := patient.WithTimeout(timeout)
		wantUnavailable(t, c, "", true)
		node.Resume()
		testenv.Eventually(t, "Redis answers again", func() bool { return c.Ping(t.Context()).Err() == nil })
		node.Kill()
		wantUnavailable(t, client(t, node.Addr), node.Addr, false)
	})
}

// wantUnavailable fails unless every method returns ErrUnavailable, with want in its text, and the error says whether it may have written.
func wantUnavailable(t *testing.T, c *redis.Client, want string, written bool) {
	t.Helper()
	for name, call := range calls(counter(c)) {
		err := call(context.Background())
		if !errors.Is(err, pview.ErrUnavailable) || !strings.Contains(err.Error(), want) || errors.Is(err, pview.ErrNotWritten) == written {
			t.Errorf("%s: got %v, want ErrUnavailable with %q, and possibly written %t", name, err, want, written)
		}
	}
}
