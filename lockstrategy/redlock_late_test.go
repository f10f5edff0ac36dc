package lockstrategy

import (
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
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
		w := waiter{hubs: r.hubs, channel: redlockChannel("k"), life: t.Context(), yield: 2}
		w.listen()
		defer w.stop()
		time.Sleep(time.Second)
		for released := range 2 {
			if !w.yields() {
				t.Errorf("after %d releases it competes, want 2", released)
			}
			for _, server := range servers {
				server.Publish(redlockChannel("k"), "0")
			}
			time.Sleep(time.Second)
		}
		if w.yields() {
			t.Error("after two releases it still lets others go first")
		}
	})
}
