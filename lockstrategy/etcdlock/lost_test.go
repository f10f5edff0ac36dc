package etcdlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
)

// A server that has lost its data knows no lease and no key any more, and its revisions begin anew. The holder loses its lease, the
// waiter takes a position again, and nobody is refused because of a lease that was kept for the next contender.
func TestEtcdLosesItsData(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	cluster := etcdServers(t, 1)
	member := cluster.Members[0]
	lock := etcdLock(t, etcdClient(t, cluster.Addrs()), lockstrategy.Timing{Expiry: 30 * time.Second, Request: 5 * time.Second})
	var idle []*lockstrategy.Lease
	for i := range 8 {
		idle = append(idle, testlocks.Granted(t, lock, fmt.Sprint(i)))
	}
	held := testlocks.Granted(t, lock, "k")
	waiter := testlocks.InBackground(t, lock, "k")
	testenv.Eventually(t, "it waits", func() bool { return len(etcdKeys(t, etcdClient(t, cluster.Addrs()), "k")) == 2 })
	for _, lease := range idle {
		testlocks.Released(t, lease)
	}
	if err := member.LoseDisk(); err != nil {
		t.Fatal(err)
	}
	if _, err := member.Restart(testenv.Context(t)); err != nil {
		t.Fatal(err)
	}
	testlocks.Released(t, testlocks.Granted(t, lock, "another"))
	next := testlocks.Served(t, waiter)
	<-held.Context().Done()
	if cause := context.Cause(held.Context()); !errors.Is(cause, lockstrategy.ErrGone) {
		t.Errorf("the lease ended with %v", cause)
	}
	if next.FencingToken() <= held.FencingToken() {
		t.Errorf("the token %d follows %d", next.FencingToken(), held.FencingToken())
	}
	testlocks.Released(t, next)
}
