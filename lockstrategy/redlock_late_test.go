package lockstrategy

import (
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// A refused try may leave its key on two nodes that execute the request and lose the answer. Two such tries would leave it on four, and
// nobody would get a majority until their leases end. So the key is taken back from each node.
func TestRedLockCompensatesASilentMinority(t *testing.T) {
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
		for _, node := range slow[:2] {
			node.mute.Store(false)
		}
		time.Sleep(5 * time.Second)
		if servers[0].Exists("redlock:k") || servers[1].Exists("redlock:k") {
			t.Error("a node still has the key of a try that was refused")
		}
		mustRelease(t, holder)
	})
}
