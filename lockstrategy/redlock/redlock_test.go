package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/versions"
)

// Promises of a quorum only; the rest is in the conformance suite.

func TestRedLockNeedsAMajority(t *testing.T) {
	t.Parallel()
	testenv.Engines(t, func(t *testing.T, real bool) {
		nodes := testlocks.RedLockNodes(t, real)
		lock := testlocks.Open(t, versions.NameRedLock, versions.Backends{Nodes: testlocks.Clients(t, nodes), Expiry: time.Minute})
		ctx := testenv.Context(t)
		for down := 1; down <= 2; down++ {
			nodes[down].Kill()
			lease, err := lock.Acquire(ctx, "lock:k")
			if err != nil {
				t.Fatalf("with %d nodes down: %v", down, err)
			}
			if err := lease.Release(ctx); err != nil {
				t.Fatalf("with %d nodes down the release says: %v", down, err)
			}
		}
		nodes[3].Kill()
		_, err := lock.Acquire(ctx, "lock:k")
		wantUnavailable(t, err, nodes, nodes[1:4])
	})
}

// redsync takes a failed try back under the caller's context. Under one that has ended, the key of a minority would stay until its
// lease ends.
func TestRedLockTakesBackWhatAMinorityGranted(t *testing.T) {
	t.Parallel()
	nodes := testlocks.RedLockNodes(t, false)
	admins := testlocks.Clients(t, nodes)
	ctx := testenv.Context(t)
	for _, c := range admins[:3] { // another holder has the majority
		c.Set(ctx, "redlock:lock:k", "another", time.Hour)
	}
	lock := testlocks.Open(t, versions.NameRedLock, versions.Backends{Nodes: testlocks.Clients(t, nodes)})
	_, err := lock.Acquire(ctx, "lock:k", lockstrategy.WaitAtMost(50*time.Millisecond))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	testenv.Eventually(t, "no node has the key of a try that failed", func() bool { return len(owners(t, admins[3:], "lock:k")) == 0 })
}

// wantUnavailable demands an error that names the silent nodes, and no other.
func wantUnavailable(t *testing.T, err error, nodes, silent []*servers.Node) {
	t.Helper()
	if !errors.Is(err, lockstrategy.ErrNotAcquired) || !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Fatalf("with three nodes away: %v, want ErrNotAcquired and ErrUnavailable", err)
	}
	for _, node := range nodes {
		away := false
		for _, s := range silent {
			away = away || s == node
		}
		if strings.Contains(err.Error(), node.Addr) != away {
			t.Errorf("%s is away: %t, and the error says %v", node.Addr, away, err)
		}
	}
}
