// Package locktest is the conformance suite that every strategy of the lab passes. Each case states
// the promise of package lockstrategy that it checks. A new guarantee is first a new case here.
package locktest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"locklab/lockstrategy"
)

// Backend is one kind of lock, as the suite uses it.
type Backend struct {
	// Client opens one more client of the lock, which shares nothing with the others but the
	// server: another process. Its crash cuts its connections, and is called at most once.
	Client func(t *testing.T, lease time.Duration) (client lockstrategy.Strategy, crash func())
	// Shared is false where every client excludes only itself: a lock in the process.
	Shared bool
	// Forget makes the server forget key, as an eviction or a lost failover does. nil: no server.
	Forget func(t *testing.T, key string)
	// Held reports whether the server has key. nil: no server.
	Held func(t *testing.T, key string) bool
}

// Leases of the suite: long where nothing may expire, short where something must.
const (
	long  = 20 * time.Second
	short = 900 * time.Millisecond
)

// Run checks every promise on b.
func Run(t *testing.T, b Backend) {
	t.Run("one holder at a time over two clients", func(t *testing.T) {
		one, two := b.pair(t, long)
		if err := Excludes(t.Context(), one, two, 8, 12); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("the gate serves in the order of arrival", func(t *testing.T) { b.fifo(t) })
	t.Run("a wait that ends leaves nothing behind", func(t *testing.T) { b.cancelled(t) })
	t.Run("a key does not wait for another", func(t *testing.T) {
		one, two := b.pair(t, long)
		first := acquire(t, one, "lock:a")
		release(t, acquire(t, two, "lock:b"))
		release(t, first)
	})
	t.Run("a release works under a context that has ended", func(t *testing.T) {
		one, two := b.pair(t, long)
		lease := acquire(t, one, "lock:k")
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if err := lease.Release(ended); err != nil {
			t.Fatal(err)
		}
		release(t, acquire(t, two, "lock:k"))
	})
	t.Run("a second release is refused and frees nobody else's lock", func(t *testing.T) { b.released(t) })
	if b.Forget == nil {
		return // what follows is about a server
	}
	t.Run("a living holder keeps its lease beyond the lease's length", func(t *testing.T) { b.renewed(t) })
	t.Run("a lost lease ends its context with ErrLost", func(t *testing.T) { b.lost(t) })
	t.Run("a dead holder's key is free after its lease, and not before it stopped", func(t *testing.T) { b.dead(t) })
}

// pair opens two clients, or the same one twice where clients do not share a server.
func (b Backend) pair(t *testing.T, lease time.Duration) (one, two lockstrategy.Strategy) {
	one, _ = b.Client(t, lease)
	if !b.Shared {
		return one, one
	}
	two, _ = b.Client(t, lease)
	return one, two
}

func (b Backend) fifo(t *testing.T) {
	client, _ := b.Client(t, long)
	opened, ok := client.(*lockstrategy.Opened)
	if !ok || opened.Gate == nil {
		t.Fatal("this strategy was opened without a gate")
	}
	const waiters = 20
	first := acquire(t, client, "lock:k")
	order := make(chan int, waiters)
	var served sync.WaitGroup
	defer served.Wait()
	for i := range waiters {
		served.Go(func() {
			lease, err := client.Acquire(t.Context(), "lock:k")
			order <- i
			if err == nil {
				err = lease.Release(t.Context())
			}
			if err != nil {
				t.Errorf("waiter %d: %v", i, err)
			}
		})
		awaitWaiting(t, opened.Gate, i+1)
	}
	release(t, first)
	for want := range waiters {
		if got := <-order; got != want {
			t.Fatalf("waiter %d was served as number %d", got, want)
		}
	}
}

func (b Backend) cancelled(t *testing.T) {
	one, two := b.pair(t, long)
	lease := acquire(t, one, "lock:k")
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := two.Acquire(soon, "lock:k")
	if !errors.Is(err, lockstrategy.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want ErrNotAcquired and the context's own error", err)
	}
	release(t, lease)
	if b.Held != nil && b.Held(t, "lock:k") {
		t.Fatal("the server has the key although nobody holds it")
	}
	release(t, acquire(t, two, "lock:k"))
}

func (b Backend) released(t *testing.T) {
	one, two := b.pair(t, long)
	first := acquire(t, one, "lock:k")
	release(t, first)
	second := acquire(t, two, "lock:k")
	if err := first.Release(t.Context()); !errors.Is(err, lockstrategy.ErrNotHeld) {
		t.Fatalf("the second release returned %v, want ErrNotHeld", err)
	}
	if b.Held != nil && !b.Held(t, "lock:k") {
		t.Fatal("the second release freed the next holder's key")
	}
	if cause := context.Cause(first.Context()); errors.Is(cause, lockstrategy.ErrLost) {
		t.Fatalf("a released lease counts as lost: %v", cause)
	}
	release(t, second)
}

func (b Backend) renewed(t *testing.T) {
	one, two := b.pair(t, short)
	lease := acquire(t, one, "lock:k")
	soon, cancel := context.WithTimeout(t.Context(), 2*short)
	defer cancel()
	if _, err := two.Acquire(soon, "lock:k"); !errors.Is(err, lockstrategy.ErrNotAcquired) {
		t.Fatalf("another client got the lock of a living holder: %v", err)
	}
	if err := lease.Context().Err(); err != nil {
		t.Fatalf("the holder lost its lease: %v", context.Cause(lease.Context()))
	}
	release(t, lease)
}

func (b Backend) lost(t *testing.T) {
	one, _ := b.pair(t, short)
	lease := acquire(t, one, "lock:k")
	b.Forget(t, "lock:k")
	awaitLoss(t, lease)
	if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrLost) {
		t.Fatalf("the release of a lost lease returned %v, want ErrLost", err)
	}
	release(t, acquire(t, one, "lock:k")) // the gate has passed on
}

func (b Backend) dead(t *testing.T) {
	one, crash := b.Client(t, short)
	two, _ := b.Client(t, short)
	lease := acquire(t, one, "lock:k")
	crash()
	next := acquire(t, two, "lock:k")
	if lease.Context().Err() == nil {
		t.Error("the next holder was let in while the dead one's lease still ran")
	}
	awaitLoss(t, lease)
	release(t, next)
	_ = lease.Release(t.Context()) // for its goroutine
}

func acquire(t *testing.T, s lockstrategy.Strategy, key string) *lockstrategy.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lease, err := s.Acquire(ctx, key)
	if err != nil {
		t.Fatalf("acquire %s: %v", key, err)
	}
	return lease
}

func release(t *testing.T, lease *lockstrategy.Lease) {
	t.Helper()
	if err := lease.Release(context.Background()); err != nil {
		t.Fatalf("release: %v", err)
	}
}

func awaitLoss(t *testing.T, lease *lockstrategy.Lease) {
	t.Helper()
	select {
	case <-lease.Context().Done():
	case <-time.After(time.Minute):
		t.Fatal("the lease's context did not end")
	}
	if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrLost) {
		t.Fatalf("the lease's context ended with %v, want ErrLost", cause)
	}
}
