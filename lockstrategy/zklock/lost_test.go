package zklock_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/zklock"
)

// A server that has lost its data, or is restored from an older copy, refuses a session that has seen more. The holder loses its lease
// and the waiter gets it, although the copy has the nodes of both and their session, which would live for an hour.
func TestZooKeeperLosesItsData(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	loseAll := func(_ testing.TB, n *servers.ZooKeeperNode) func() error { return n.LoseDisk }
	for name, of := range map[string]struct {
		servers int
		lose    func(testing.TB, *servers.ZooKeeperNode) func() error
	}{
		"all of it":          {1, loseAll},
		"all of an ensemble": {3, loseAll},
		"the latest": {1, func(t testing.TB, n *servers.ZooKeeperNode) func() error {
			return testlocks.Must(n.CopyDisk())(t)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := testenv.Ensemble(t, of.servers)
			z := testlocks.Must(zklock.New(servers.Addrs(nodes), zklock.Config{
				Timing: lockstrategy.Timing{Expiry: time.Hour, Request: 30 * time.Second},
			}))(t)
			lock := testlocks.Opened(t, false, z, z.Close, localqueue.HandOff{})
			held := testlocks.Granted(t, lock, "k")
			waiter := testlocks.InBackground(t, lock, "k")
			admin := newZooKeeperAdmin(t, nodes[0].Addr)
			testenv.Eventually(t, "it waits", func() bool { return len(admin.entries(t, "k")) == 2 })
			var lost []func() error
			for _, node := range nodes {
				lost = append(lost, of.lose(t, node))
			}
			for range 10 {
				testlocks.Released(t, testlocks.Granted(t, lock, "another"))
			}
			for _, lose := range lost {
				if err := lose(); err != nil {
					t.Fatal(err)
				}
			}
			var started errgroup.Group // an ensemble answers when a majority runs
			for _, node := range nodes {
				started.Go(func() error {
					_, err := node.Restart(testenv.Context(t))
					return err
				})
			}
			if err := started.Wait(); err != nil {
				t.Fatal(err)
			}
			next := testlocks.Served(t, waiter)
			if cause := context.Cause(held.Context()); name == "the latest" && !errors.Is(cause, lockstrategy.ErrGone) {
				t.Errorf("the next has the lock, and the lease ended with %v", cause)
			}
			if name != "the latest" && next.FencingToken() <= held.FencingToken() {
				t.Errorf("the token %d follows %d", next.FencingToken(), held.FencingToken())
			}
			<-held.Context().Done()
			testlocks.Released(t, next)
			if err := held.Release(t.Context()); !errors.Is(err, lockstrategy.ErrGone) {
				t.Errorf("the release of the lease that was lost says %v", err)
			}
			testlocks.Released(t, testlocks.Granted(t, lock, "k"))
		})
	}
}

// A server without a quorum closes connections, too. That costs nobody the session.
func TestZooKeeperSessionOutlastsTheQuorum(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	nodes := testenv.Ensemble(t, 3)
	var dials atomic.Int32
	z := testlocks.Must(zklock.New([]string{nodes[0].Addr}, zklock.Config{
		Timing: lockstrategy.Timing{Expiry: time.Hour, Request: 15 * time.Second},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	}))(t)
	lock := testlocks.Opened(t, false, z, z.Close, localqueue.HandOff{})
	held := testlocks.Granted(t, lock, "k")
	nodes[1].Kill()
	nodes[2].Kill()
	before := dials.Load()
	testenv.Eventually(t, "it was refused for long", func() bool { return dials.Load() > before+40 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := z.Ping(ctx); err == nil || !strings.Contains(err.Error(), "it has no quorum") {
		t.Errorf("without a quorum a ping says %v", err)
	}
	if _, err := nodes[1].Restart(testenv.Context(t)); err != nil {
		t.Fatal(err)
	}
	another := testlocks.Granted(t, lock, "another")
	admin := newZooKeeperAdmin(t, nodes[0].Addr)
	if before, after := admin.owner(t, "k"), admin.owner(t, "another"); before != after {
		t.Errorf("the lease is of session %x, and a later one of %x", before, after)
	}
	testlocks.Released(t, another)
	testlocks.Released(t, held)
}

// ZooKeeper closes connections of too many clients without a word, so the error says why that may be.
func TestZooKeeperTooManyConnections(t *testing.T) {
	testenv.Slow(t)
	t.Setenv("JAVA_TOOL_OPTIONS", "-Dzookeeper.maxCnxns=1")
	addr := testenv.Ensemble(t, 1)[0].Addr
	testlocks.Must(newZooKeeperAdmin(t, addr).Sync("/"))(t)
	z := testlocks.Must(zklock.New([]string{addr}, zklock.Config{}))(t)
	defer z.Close()
	_, err := z.Acquire(t.Context(), "k")
	if !errors.Is(err, lockstrategy.ErrUnavailable) || !strings.Contains(err.Error(), "maxClientCnxns") {
		t.Errorf("got %v", err)
	}
}
