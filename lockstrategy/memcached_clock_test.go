//go:build unix

package lockstrategy_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
)

// The clock of the server ticks once each second. A tick that comes late may leave a second out: then an item has one second less.
func TestMemcachedKeepsAnItemForItsLease(t *testing.T) {
	server := memcachedServer(t)
	c, admin := cacheAt(t, server.Addr), cacheAt(t, server.Addr)
	lock := memcachedLock(t, c, time.Minute)
	testenv.Pause(t, server)
	for _, phase := range []time.Duration{930, 920, 930} { // longer than to the next tick
		untilPhase(phase * time.Millisecond)
	}
	server.Resume() // it ticks now, and once a second from now on
	untilPhase(900 * time.Millisecond)
	lease := must(lock.Acquire(t.Context(), "lock", lockstrategy.LeaseFor(time.Second)))(t)
	testenv.Pause(t, server)
	untilPhase(50 * time.Millisecond)
	server.Resume() // its tick is late, and leaves a second out
	for end := lease.Until().Add(-5 * time.Millisecond); ; {
		owner := admin.owner(t, "lock")
		if left := time.Until(end); left <= 0 {
			return
		} else if owner == "" {
			t.Fatalf("the server has forgotten it %s before the lease's end", left)
		}
	}
}

// untilPhase waits until the machine's monotonic clock is that far in its second.
func untilPhase(phase time.Duration) {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	time.Sleep((time.Second + phase - time.Duration(now.Nsec)) % time.Second)
}
