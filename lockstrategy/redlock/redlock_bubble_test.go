package redlock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/bubble"
)

// RedLock over five nodes in a synctest bubble: time is that of the bubble.

func redlockInBubble(
	t *testing.T, commands string, f func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, slow []*bubble.SlowNode),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var servers []*miniredis.Miniredis
		var clients []redis.UniversalClient
		var slow []*bubble.SlowNode
		for range 5 {
			server, hook := miniredis.NewMiniRedis(), &bubble.SlowNode{Commands: commands}
			server.ClockTTL(true)
			defer server.Close()
			client := bubble.Client(t, server)
			client.AddHook(hook)
			servers, clients, slow = append(servers, server), append(clients, client), append(slow, hook)
		}
		r, err := New(clients, lockstrategy.Timing{})
		if err != nil {
			t.Fatal(err)
		}
		f(t, r, servers, slow)
		time.Sleep(time.Minute) // until the last late answer is there
		_ = r.Close()
	})
}

// Nodes that hang cost nothing while a majority answers.
func TestRedLockWaitsForAMajorityOnly(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *Lock, _ []*miniredis.Miniredis, slow []*bubble.SlowNode) {
		slow[1].Late.Store(int64(time.Hour))
		slow[3].Late.Store(int64(time.Hour))
		began := time.Now()
		for range 10 {
			bubble.Release(t, bubble.Acquire(t, r, "k"))
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("with two nodes that hang ten locks took %s", took)
		}
	})
}

// A majority is of all nodes: with two away the lock is taken and given back, waited for, and no less exclusive.
func TestRedLockWithTwoNodesAway(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, slow []*bubble.SlowNode) {
		another := sameNodes(t, servers)
		for _, node := range []int{0, 4} {
			slow[node].Away.Store(true)
		}
		holder := bubble.Acquire(t, another, "k")
		granted := make(chan *lockstrategy.Lease)
		go func() { granted <- bubble.Acquire(t, r, "k") }()
		time.Sleep(time.Second)
		select {
		case <-granted:
			t.Error("two hold it")
		default:
		}
		bubble.Release(t, holder)
		bubble.Release(t, <-granted)
		time.Sleep(time.Second)
		if err := servers[2].Set("redlock:k", "a third process"); err != nil { // nobody has a majority: that is no failure of a node
			t.Fatal(err)
		}
		servers[2].SetTTL("redlock:k", time.Second)
		bubble.Release(t, bubble.Acquire(t, r, "k"))
	})
}

// One node more than that, and nobody is granted anything.
func TestRedLockWithThreeNodesAway(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, slow []*bubble.SlowNode) {
		for _, node := range slow[2:] {
			node.Away.Store(true)
		}
		if _, err := r.Acquire(t.Context(), "k"); !errors.Is(err, lockstrategy.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		synctest.Wait()
		for _, server := range servers[:2] {
			if server.Exists("redlock:k") {
				t.Error("a node has the key of a try that failed")
			}
		}
	})
}

// A caller that does not wait is told nothing, so it does not subscribe: others would let it go first.
func TestRedLockDoesNotSubscribeForOneAttempt(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, _ []*bubble.SlowNode) {
		holder := bubble.Acquire(t, sameNodes(t, servers), "k")
		if _, err := r.Acquire(t.Context(), "k", lockstrategy.TryOnce()); !errors.Is(err, lockstrategy.ErrTaken) {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, server := range servers {
			if n := server.PubSubNumSub(ChannelOf("k"))[ChannelOf("k")]; n != 0 {
				t.Errorf("%d are subscribed", n)
			}
		}
		bubble.Release(t, holder)
	})
}

// A majority that confirms a renewal is enough, and less is not.
func TestRedLockRenewsWithTwoNodesAway(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *Lock, _ []*miniredis.Miniredis, slow []*bubble.SlowNode) {
		lease := bubble.Acquire(t, r, "k")
		slow[0].Away.Store(true)
		slow[1].Away.Store(true)
		time.Sleep(3 * lockstrategy.DefaultLease)
		if lost := lockstrategy.LossOf(lease.Context()); lost != nil {
			t.Fatalf("it was lost: %v", lost)
		}
		slow[2].Away.Store(true)
		went := time.Now()
		<-lease.Context().Done()
		cause := context.Cause(lease.Context())
		if !errors.Is(cause, lockstrategy.ErrUnreachable) || time.Since(went) > lockstrategy.DefaultLease {
			t.Errorf("without a majority it ended after %s with %v, want ErrUnreachable within a lease", time.Since(went), cause)
		}
		_ = lease.Release(t.Context())
	})
}

// Grants of three nodes whose answers are lost would keep everybody from a majority until the lease ends.
func TestRedLockCompensatesWhatItCannotKnow(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, slow []*bubble.SlowNode) {
		for _, node := range slow[2:] {
			node.Mute.Store(true)
		}
		if _, err := r.Acquire(t.Context(), "k"); !errors.Is(err, lockstrategy.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		time.Sleep(time.Second) // so that redsync's own releases are lost, too
		for _, node := range slow[2:] {
			node.Mute.Store(false)
		}
		began := time.Now()
		bubble.Release(t, bubble.Acquire(t, sameNodes(t, servers), "k"))
		if waited := time.Since(began); waited > 5*time.Second {
			t.Errorf("another process waited %s for what nobody holds", waited)
		}
	})
}

// The nodes have forgotten the key, and granted it again: the first holder renews and releases nobody else's lock.
func TestRedLockLeavesAnothersKeyAlone(t *testing.T) {
	for _, learns := range []string{"when it renews", "when it releases"} {
		redlockInBubble(t, "", func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, _ []*bubble.SlowNode) {
			lease, another := bubble.Acquire(t, r, "k"), sameNodes(t, servers)
			synctest.Wait()
			for _, server := range servers {
				server.Del("redlock:k")
			}
			held := bubble.Acquire(t, another, "k", lockstrategy.LeaseFor(time.Minute))
			if learns == "when it renews" {
				<-lease.Context().Done()
			}
			if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrGone) {
				t.Errorf("%s: it was told %v, want ErrGone", learns, err)
			}
			synctest.Wait()
			for i, server := range servers {
				if !server.Exists("redlock:k") {
					t.Errorf("%s: node %d no longer has the other's key", learns, i)
				}
			}
			<-held.Context().Done()
			if cause := context.Cause(held.Context()); !errors.Is(cause, lockstrategy.ErrExpired) {
				t.Errorf("a lease that is not renewed ended with %v, want ErrExpired", cause)
			}
			_ = held.Release(t.Context())
		})
	}
}

// Every node is asked and told, although a majority is enough.
func TestRedLockReleasesAndNotifiesOnEveryNode(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, _ []*bubble.SlowNode) {
		another := sameNodes(t, servers)
		for _, waiting := range [][]*Lock{{r}, {r, another}} {
			lease := bubble.Acquire(t, r, "k")
			synctest.Wait()
			for i, server := range servers {
				if !server.Exists("redlock:k") {
					t.Errorf("node %d was not asked", i)
				}
			}
			var all sync.WaitGroup
			for _, process := range waiting {
				all.Go(func() { bubble.Release(t, bubble.Acquire(t, process, "k")) })
			}
			time.Sleep(time.Second)
			bubble.Release(t, lease)
			all.Wait()
			time.Sleep(time.Second)
			for i, server := range servers {
				if server.Exists("redlock:k") {
					t.Errorf("node %d was not told of the release", i)
				}
			}
		}
	})
}

// Nodes know of different listeners. The largest number of a majority counts, whether it is the first of the answers or the last.
func TestRedLockCountsTheOthersOfOneNode(t *testing.T) {
	for _, late := range [][5]time.Duration{{0, 2, 2, 2, 2}, {1, 0, 0, 2, 2}} { // quarters of the timeout; the first node has the listener
		redlockInBubble(t, "publish", func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, slow []*bubble.SlowNode) {
			listener := bubble.Client(t, servers[0]).Subscribe(t.Context(), ChannelOf("k"))
			defer listener.Close()
			if _, err := listener.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i, node := range slow {
				node.Late.Store(int64(late[i] * DefaultNodeTimeout / 4))
			}
			lease := bubble.Acquire(t, r, "k")
			bubble.Release(t, lease)
			if others := lease.Holder().(lockstrategy.Yielder).Others(); others != 1 {
				t.Errorf("its release has notified %d others, want 1", others)
			}
		})
	}
}

// Two nodes did not answer the release, and one had lost the key: the release is repeated.
func TestRedLockRepeatsAReleaseThatIsNotConfirmed(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, slow []*bubble.SlowNode) {
		lease := bubble.Acquire(t, r, "k")
		synctest.Wait()
		servers[0].Del("redlock:k")
		slow[3].Mute.Store(true)
		slow[4].Mute.Store(true)
		if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		slow[3].Mute.Store(false)
		slow[4].Mute.Store(false)
		time.Sleep(5 * time.Second)
		if servers[3].Exists("redlock:k") || servers[4].Exists("redlock:k") {
			t.Error("a node still has the key")
		}
	})
}

// sameNodes is the lock of one more process.
func sameNodes(t *testing.T, servers []*miniredis.Miniredis) *Lock {
	t.Helper()
	var clients []redis.UniversalClient
	for _, server := range servers {
		clients = append(clients, bubble.Client(t, server))
	}
	r, err := New(clients, lockstrategy.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// A node that is asked late for the key is told of the release later still.
func TestRedLockReleaseDoesNotOvertake(t *testing.T) {
	redlockInBubble(t, "set", func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, slow []*bubble.SlowNode) {
		slow[1].Late.Store(int64(DefaultNodeTimeout - time.Millisecond)) // it executes the request
		bubble.Release(t, bubble.Acquire(t, r, "k"))
		time.Sleep(2 * time.Second)
		if servers[1].Exists("redlock:k") {
			t.Error("a node has the key of a lock that was released")
		}
	})
}
