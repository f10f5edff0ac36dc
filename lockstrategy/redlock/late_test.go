package redlock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/bubble"
)

// A refused try may leave its key on two nodes that execute the request and lose the answer. Two such tries would leave it on four, and
// nobody would get a majority until their leases end. So the key is taken back from each node.
//
// Meanwhile a node may have granted the key to another: that key stays.
func TestRedLockCompensatesASilentMinority(t *testing.T) {
	for _, next := range []string{"", "another process"} {
		redlockInBubble(t, "", func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, slow []*bubble.SlowNode) {
			another := sameNodes(t, servers[2:])
			holder := bubble.Acquire(t, another, "k")
			for _, node := range slow[:2] {
				node.Mute.Store(true)
			}
			if _, err := r.Acquire(t.Context(), "k", lockstrategy.TryOnce()); !errors.Is(err, lockstrategy.ErrTaken) {
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
				node.Mute.Store(false)
			}
			time.Sleep(5 * time.Second)
			if has, _ := servers[0].Get("redlock:k"); has != next {
				t.Errorf("the first node has the key of %q, want %q", has, next)
			}
			if servers[1].Exists("redlock:k") {
				t.Error("the second node still has the key of a try that was refused")
			}
			bubble.Release(t, holder)
		})
	}
}

// The request of a refused try arrives at a node long after the release has found nothing there.
func TestRedLockTakesBackWhatArrivesLate(t *testing.T) {
	redlockInBubble(t, "", func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, slow []*bubble.SlowNode) {
		holder := bubble.Acquire(t, sameNodes(t, servers[2:]), "k")
		slow[0].Mute.Store(true)
		if _, err := r.Acquire(t.Context(), "k", lockstrategy.TryOnce()); !errors.Is(err, lockstrategy.ErrTaken) {
			t.Fatalf("got %v, want ErrTaken", err)
		}
		time.Sleep(time.Second)
		request, err := servers[0].Get("redlock:k")
		if err != nil {
			t.Fatal(err)
		}
		servers[0].Del("redlock:k") // it has not arrived
		slow[0].Mute.Store(false)
		time.Sleep(5 * time.Second)
		if err := servers[0].Set("redlock:k", request); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if servers[0].Exists("redlock:k") {
			t.Error("the node still has the key of a try that was refused")
		}
		bubble.Release(t, holder)
	})
}

// redsync takes a failed try back under the caller's context. If that has ended meanwhile, the key of a minority would stay until its lease
// ends.
func TestRedLockTakesBackUnderAContextThatHasEnded(t *testing.T) {
	redlockInBubble(t, "set", func(t *testing.T, r *Lock, servers []*miniredis.Miniredis, slow []*bubble.SlowNode) {
		for i, server := range servers[:3] {
			slow[i].Late.Store(int64(DefaultNodeTimeout / 2))
			if err := server.Set("redlock:k", "another"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Acquire(t.Context(), "k", lockstrategy.WaitAtMost(DefaultNodeTimeout/4)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Second)
		if servers[3].Exists("redlock:k") || servers[4].Exists("redlock:k") {
			t.Error("a node still has the key of a try that failed")
		}
	})
}
