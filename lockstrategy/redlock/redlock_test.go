package redlock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/versions"
)

// The error of a caller without a majority names the nodes that are away, and no other.
func TestRedLockNamesTheNodesThatAreAway(t *testing.T) {
	t.Parallel()
	nodes := testlocks.RedLockNodes(t, false)
	lock := testlocks.Open(t, versions.NameRedLock, versions.Backends{Nodes: testlocks.Clients(t, nodes), Expiry: time.Minute})
	for _, node := range nodes[1:4] {
		node.Kill()
	}
	_, err := lock.Acquire(testenv.Context(t), "lock:k")
	if !errors.Is(err, lockstrategy.ErrNotAcquired) || !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Fatalf("got %v, want ErrNotAcquired and ErrUnavailable", err)
	}
	for i, node := range nodes {
		if away := i >= 1 && i < 4; strings.Contains(err.Error(), node.Addr) != away {
			t.Errorf("%s is away: %t, and the error says %v", node.Addr, away, err)
		}
	}
}
