package redislock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/topology"
	"locklab/versions"
)

// topologyWaits is for how long a client of package topology sends other commands again.
const topologyWaits = 5 * time.Second

// A cluster moves the slot of a lock. The holder keeps its lease, and its release counts. A caller that waits gets the lock when the move
// is over. A caller that does not wait so long is told why.
func TestALockWhoseSlotMoves(t *testing.T) {
	t.Parallel()
	started, ctx := testenv.Topology(t, string(topology.Cluster)), testenv.Context(t)
	const key = "lock:k"
	newLock := func() *versions.Opened { // of another process
		opened, err := topology.Open(ctx, topology.Config{Kind: topology.Cluster, Addrs: started.Addrs})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = opened.Close() })
		return testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: opened.Master, Expiry: 9 * time.Second})
	}
	one, two, three, four := newLock(), newLock(), newLock(), newLock()
	held := testlocks.Granted(t, one, key)
	move, err := testenv.MoveSlot(ctx, started, key)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := move.Keys(ctx)
	if err != nil || len(keys) < 2 {
		t.Fatalf("%q have moved, want the lock and its number: %v", keys, err)
	}
	first := held.Until()
	testenv.Eventually(t, "the lease is renewed at the new place", func() bool {
		return held.Until().After(first) || held.Context().Err() != nil
	})
	if err := held.Release(ctx); err != nil {
		t.Fatalf("the release says %v", err)
	}
	waiting := make(chan error, 1)
	testenv.Go(t, func(ctx context.Context) {
		lease, err := two.Acquire(ctx, key)
		if err == nil && lease.FencingToken() <= held.FencingToken() {
			t.Errorf("token %d was followed by %d", held.FencingToken(), lease.FencingToken())
		}
		if err == nil {
			err = lease.Release(ctx)
		}
		waiting <- err
	})
	// A caller is told why it got no lock.
	impatient, asked := make(chan error, 1), time.Now()
	go func() {
		_, err := three.Acquire(ctx, key, lockstrategy.WaitAtMost(2*time.Second))
		impatient <- err
	}()
	_, err = four.Acquire(ctx, key, lockstrategy.TryOnce())
	if took := time.Since(asked); took > topologyWaits {
		t.Errorf("a caller that does not wait is told after %s", took)
	}
	for _, err := range []error{err, <-impatient} {
		if !errors.Is(err, lockstrategy.ErrUnavailable) || !strings.Contains(err.Error(), "a slot of the cluster is moving") {
			t.Errorf("a caller is told %v", err)
		}
	}
	if err := move.End(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Errorf("a caller that waits for the move is told %v", err)
	}
}
