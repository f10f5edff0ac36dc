package versions_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/locktest/bubble"
	"locklab/versions"
)

// A lock that is opened and closed tells the callers that wait in its queue.
func TestALockIsClosedWithItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock, err := versions.Open(versions.NameProcess, versions.Backends{})
		if err != nil {
			t.Fatal(err)
		}
		_ = bubble.Acquire(t, lock, "k")
		waits := make(chan error)
		go func() { _, err := lock.Acquire(t.Context(), "k", lockstrategy.WaitAtMost(time.Hour)); waits <- err }()
		synctest.Wait()
		_ = lock.Close()
		if err := <-waits; !errors.Is(err, lockstrategy.ErrUnavailable) {
			t.Errorf("the caller got %v, want ErrUnavailable", err)
		}
	})
}

// The bounds that are configured are those of the queue: with one lease in a turn the next caller gets a grant of its own, and otherwise
// the next token of the same grant.
func TestOpenPassesOnTheBounds(t *testing.T) {
	for count, same := range map[int]bool{0: true, 1: false} {
		bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
			backends := versions.Backends{Redis: bubble.Client(t, server), HandOff: localqueue.HandOff{Count: count}}
			lock, err := versions.Open(versions.NameRedis, backends)
			if err != nil {
				t.Fatal(err)
			}
			first := bubble.Acquire(t, lock, "k")
			next := bubble.Wait(t, lock.Queue)
			bubble.Release(t, first)
			second := <-next
			if handedOff := second.FencingToken() == first.FencingToken()+1; handedOff != same {
				t.Errorf("with the bound %d the tokens are %d and %d", count, first.FencingToken(), second.FencingToken())
			}
			bubble.Release(t, second)
			_ = lock.Close()
		})
	}
}
