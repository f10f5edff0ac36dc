package interop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/lab/testenv"
	"locklab/lockstrategy"
)

// forced: a lock that is freed by force is free for everybody, and its holder learns of it.
func (b *bench) forced(ctx context.Context, t *testing.T) {
	t.Run("ours frees Java's waiter of Java's holder", func(t *testing.T) { b.forcedForJava(ctx, t) })
	t.Run("ours frees Java's waiter of our holder", func(t *testing.T) { b.forcedForUs(ctx, t) })
	for name, listening := range map[string]bool{"that listens": true, "that has just begun": false} {
		t.Run("Java's ends the context of a holder of ours "+name, func(t *testing.T) { b.forcedByJava(ctx, t, listening) })
	}
}

// forcedForJava frees a lock that Java holds. Java's waiter gets it, and the former holder cannot release it.
func (b *bench) forcedForJava(ctx context.Context, t *testing.T) {
	key, waiter := b.key(t), b.java(b.theirs[1], "waiter")
	b.theirs[0].must(ctx, t, "holder", "lock", b.kind, key)
	b.held(ctx, t, key, false)
	granted := b.waiting(ctx, t, waiter, key)
	b.force(ctx, t, key)
	within(t, granted)
	_, err := b.theirs[0].do(ctx, "holder", "unlock", b.kind, key)
	if err == nil || !strings.Contains(err.Error(), "not locked by current thread") {
		t.Errorf("Java's former holder unlocks what another holds: %v", err)
	}
	if err := waiter.release(ctx, key); err != nil {
		t.Error(err)
	}
}

// forcedForUs frees a lock that this process holds. Java's waiter gets it, and our holder is told.
func (b *bench) forcedForUs(ctx context.Context, t *testing.T) {
	key, waiter := b.key(t), b.java(b.theirs[0], "waiter")
	lease := b.acquire(ctx, t, key)
	b.held(ctx, t, key, true)
	granted := b.waiting(ctx, t, waiter, key)
	listens(t, lease)
	b.force(ctx, t, key)
	ends(t, lease, lockstrategy.ErrForced)
	within(t, granted)
	if err := waiter.release(ctx, key); err != nil {
		t.Error(err)
	}
}

// forcedByJava lets Java free a lock that this process holds. A holder that listens is told why it lost the lock.
func (b *bench) forcedByJava(ctx context.Context, t *testing.T, listening bool) {
	key, next, cause := b.key(t), b.we(), lockstrategy.ErrLost
	lease := b.acquire(ctx, t, key)
	if listening {
		listens(t, lease)
		cause = lockstrategy.ErrForced
	}
	b.theirs[0].must(ctx, t, "force", "forceUnlock", b.kind, key)
	ends(t, lease, cause)
	if err := next.lock(ctx, key); err != nil {
		t.Fatal(err)
	}
	if err := next.release(ctx, key); err != nil {
		t.Error(err)
	}
}

// ends checks that a lease is lost before its next renewal would have found out: a third of the lease after the last one.
func ends(t *testing.T, lease *lockstrategy.Lease, want error) {
	t.Helper()
	renewal := lease.Until().Add(-lockstrategy.DefaultLease * 2 / 3)
	late := time.NewTimer(time.Until(renewal) - time.Second)
	defer late.Stop()
	select {
	case <-lease.Context().Done():
	case <-late.C:
		t.Error("our holder is not told: its context lives until the next renewal")
		<-lease.Context().Done()
	}
	if cause := context.Cause(lease.Context()); !errors.Is(cause, want) {
		t.Errorf("our holder's context ended with %q, want %q", cause, want)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrLost) {
		t.Errorf("the release of a lost lease: got %v, want ErrLost", err)
	}
}

// listens returns when the holder listens for force, and has looked whether it missed any: which renews.
func listens(t *testing.T, lease *lockstrategy.Lease) {
	t.Helper()
	granted := lease.Until()
	testenv.Eventually(t, "the holder has begun to listen", func() bool { return lease.Until().After(granted) })
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
	lasts := state.Remaining > 0 && state.Remaining <= lockstrategy.DefaultLease
	if err != nil || !state.Held || state.Count != 1 || state.Mine != mine || !lasts {
		t.Errorf("got %+v, %v", state, err)
	}
}
