package lockstrategy_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/stack"
)

func TestRedLockNeedsAMajority(t *testing.T) {
	nodes := redlockNodes(t, false)
	lock := open(t, lockstrategy.NameRedLock, lockstrategy.Backends{Nodes: clients(t, nodes)})
	ctx := testenv.Context(t)
	for down := 1; down <= 2; down++ {
		nodes[down].Kill()
		lease, err := lock.Acquire(ctx, "lock:k")
		if err != nil {
			t.Fatalf("with %d nodes down: %v", down, err)
		}
		_ = lease.Release(ctx) // the dead nodes do not confirm
	}
	nodes[3].Kill()
	_, err := lock.Acquire(ctx, "lock:k")
	if !errors.Is(err, lockstrategy.ErrNotAcquired) || !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Fatalf("with three nodes down: %v, want ErrNotAcquired and ErrUnavailable", err)
	}
	for _, node := range nodes[1:4] {
		if !strings.Contains(err.Error(), node.Addr) {
			t.Errorf("%v does not name %s", err, node.Addr)
		}
	}
}

// redsync takes a failed try back under the caller's context; under one that has ended it would
// leave the key of a minority until its lease ends.
func TestRedLockTakesBackWhatAMinorityGranted(t *testing.T) {
	nodes := redlockNodes(t, false)
	admins := clients(t, nodes)
	ctx := testenv.Context(t)
	for _, c := range admins[:3] { // another holder has the majority
		c.Set(ctx, "redlock:lock:k", "another", time.Hour)
	}
	lock := open(t, lockstrategy.NameRedLock, lockstrategy.Backends{Nodes: clients(t, nodes)})
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := lock.Acquire(soon, "lock:k"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if n := held(t, admins[3:], "redlock:lock:k"); n != 0 {
		t.Fatalf("%d nodes still have the key of a try that failed", n)
	}
}

func redlockNodes(t *testing.T, real bool) []*stack.Node {
	t.Helper()
	nodes, err := testenv.Stack(t).RedLock(testenv.Context(t), 5, real)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

func clients(t testing.TB, nodes []*stack.Node) []redis.UniversalClient {
	var all []redis.UniversalClient
	for _, node := range nodes {
		all = append(all, client(t, node.Addr))
	}
	return all
}

func held(t *testing.T, nodes []redis.UniversalClient, key string) int {
	t.Helper()
	n := 0
	for _, c := range nodes {
		exists, err := c.Exists(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		n += int(exists)
	}
	return n
}
