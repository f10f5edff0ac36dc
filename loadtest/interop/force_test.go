package interop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/lockstrategy"
)

// forced: a lock that is freed by force is free for everybody, and its holder learns of it.
func (b *bench) forced(ctx context.Context, t *testing.T) {
	t.Run("ours frees Java's waiter of Java's holder", func(t *testing.T) {
		key, waiter := b.key(t), b.java(b.theirs[1], "waiter")
		b.theirs[0].must(ctx, t, "holder", "lock", b.kind, key)
		b.held(ctx, t, key, false)
		granted := b.waiting(ctx, t, waiter, key)
		b.force(ctx, t, key)
		within(t, soon, granted)
		_, err := b.theirs[0].do(ctx, "holder", "unlock", b.kind, key)
		if err == nil || !strings.Contains(err.Error(), "not locked by current thread") {
			t.Errorf("Java's former holder unlocks what another holds: %v", err)
		}
		if err := waiter.release(ctx, key); err != nil {
			t.Error(err)
		}
	})
	t.Run("ours frees Java's waiter of our holder", func(t *testing.T) {
		key, waiter := b.key(t), b.java(b.theirs[0], "waiter")
		lease := b.acquire(ctx, t, key)
		b.held(ctx, t, key, true)
		granted := b.waiting(ctx, t, waiter, key)
		b.force(ctx, t, key)
		told(t, ctx, lease)
		within(t, soon, granted)
		if err := waiter.release(ctx, key); err != nil {
			t.Error(err)
		}
	})
	t.Run("Java's ends our holder's context and frees our waiter", func(t *testing.T) {
		key, waiter := b.key(t), b.we()
		lease := b.acquire(ctx, t, key)
		if b.theirs[0].must(ctx, t, "force", "forceUnlock", b.kind, key) != "true" {
			t.Error("Java's forceUnlock says that nobody held it")
		}
		told(t, ctx, lease)
		if err := waiter.lock(ctx, key); err != nil {
			t.Fatal(err)
		}
		if err := waiter.release(ctx, key); err != nil {
			t.Error(err)
		}
	})
}

// told: the holder's context must end before the next renewal would have found out.
func told(t *testing.T, ctx context.Context, lease *lockstrategy.Lease) {
	t.Helper()
	late := time.NewTimer(lockstrategy.DefaultLease / 6)
	defer late.Stop()
	select {
	case <-lease.Context().Done():
	case <-late.C:
		t.Error("our holder is not told: its context lives until the next renewal")
		<-lease.Context().Done()
	}
	if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrForced) {
		t.Errorf("our holder's context ended with %v, want ErrForced", cause)
	}
	if err := lease.Release(ctx); !errors.Is(err, lockstrategy.ErrLost) {
		t.Errorf("the release of a lost lease: got %v, want ErrLost", err)
	}
}

func (b *bench) force(ctx context.Context, t *testing.T, key string) {
	t.Helper()
	if held, err := b.locks.Admin.ForceUnlock(ctx, key); err != nil || !held {
		t.Fatalf("ForceUnlock of a lock that is held: %t, %v", held, err)
	}
}

// held: what the server says of a lock that one side holds.
func (b *bench) held(ctx context.Context, t *testing.T, key string, mine bool) {
	t.Helper()
	state, err := b.locks.Admin.Inspect(ctx, key)
	if err != nil || !state.Held || state.Count != 1 || state.Mine != mine || state.Remaining <= 0 || state.Remaining > lockstrategy.DefaultLease {
		t.Errorf("got %+v, %v", state, err)
	}
}
