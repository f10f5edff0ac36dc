package lockstrategy

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// A refused try may leave its key on two nodes that execute the request and lose the answer. Two such tries would leave it on four, and
// nobody would get a majority until their leases end. So the key is taken back from each node.
//
// Meanwhile a node may have granted the key to another: that key stays.
func TestRedLockCompensatesASilentMinority(t *testing.T) {
	for _, next := range []string{"", "another process"} {
		redlockInBubble(t, "", func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, slow []*slowNode) {
			another := sameNodes(t, servers[2:])
			holder := mustAcquire(t, another, "k")
			for _, node := range slow[:2] {
				node.mute.Store(true)
			}
			if _, err := r.Acquire(t.Context(), "k", TryOnce()); !errors.Is(err, ErrTaken) {
				t.Fatalf("got %v, want ErrTaken", err)
			}
			time.Sleep(time.Second) // redsync's own releases are lost, too
			if !servers[0].Exists("redlock:k") || !servers[1].Exists("redlock:k") {
				t.Fatal("the two nodes have not executed the request")
			}
			if next != "" {
				if err := servers[0].Set("redlock:k", next); err != nil {
					t.Fatal(err)
				}
			}
			for _, node := range slow[:2] {
				node.mute.Store(false)
			}
			time.Sleep(5 * time.Second)
			if has, _ := servers[0].Get("redlock:k"); has != next {
				t.Errorf("the first node has the key of %q, want %q", has, next)
			}
			if servers[1].Exists("redlock:k") {
				t.Error("the second node still has the key of a try that was refused")
			}
			mustRelease(t, holder)
		})
	}
}

// A release is published on every node, and counts once for a process that lets others go first.
func TestRedLockCountsAReleaseOnce(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *RedLock, servers []*miniredis.Miniredis, _ []*slowNode) {
		w := waiter{hubs: r.hubs, channel: redlockChannel("k"), life: t.Context(), yielding: 2}
		w.listen()
		defer w.stop()
		time.Sleep(time.Second)
		for released := range 2 {
			if w.yielding.paid(w.passed()) {
				t.Errorf("after %d releases it competes, want 2", released)
			}
			for _, server := range servers {
				server.Publish(redlockChannel("k"), "0")
			}
			time.Sleep(time.Second)
		}
		if !w.yielding.paid(w.passed()) {
			t.Error("after two releases it still lets others go first")
		}
	})
}

// Three nodes hang: the caller is told after the timeout of one node, and then without a wait.
func TestRedLockWaitsForItsNodesOnce(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *RedLock, _ []*miniredis.Miniredis, slow []*slowNode) {
		var clients []redis.UniversalClient
		for _, n := range r.nodes {
			clients = append(clients, n.client)
		}
		for _, node := range slow[2:] {
			node.late.Store(int64(time.Hour))
		}
		for _, timeout := range []time.Duration{0, 50 * time.Millisecond} {
			lock, err := NewRedLock(clients, Timing{Request: timeout})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []time.Duration{cmp.Or(timeout, DefaultNodeTimeout), 0} {
				began := time.Now()
				if _, err := lock.Acquire(t.Context(), "k"); !errors.Is(err, ErrUnavailable) {
					t.Errorf("got %v, want ErrUnavailable", err)
				}
				if took := time.Since(began); took != want {
					t.Errorf("with a node timeout of %s it was told after %s, want %s", timeout, took, want)
				}
			}
			_ = lock.Close()
		}
	})
}
