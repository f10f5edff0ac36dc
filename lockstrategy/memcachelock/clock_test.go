//go:build unix

package memcachelock_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/memcachelock"
)

// The clock of the server ticks once each second. A tick that comes late may leave a second out: then an item has one second less.
func TestMemcachedKeepsAnItemForItsLease(t *testing.T) {
	t.Parallel()
	server := memcachedServer(t)
	c, admin := cacheAt(t, server.Addr), cacheAt(t, server.Addr)
	lock := memcachedLock(t, c, time.Minute)
	for began := time.Now(); time.Since(began) < time.Minute; {
		lease, inTime := leaveASecondOut(t, server, lock)
		if !inTime {
			continue
		}
		for end := lease.Until().Add(-5 * time.Millisecond); ; {
			owner := admin.owner(t, "lock")
			if left := time.Until(end); left <= 0 {
				return
			} else if owner == "" {
				t.Fatalf("the server has forgotten it %s before the lease's end", left)
			}
		}
	}
	testenv.Skip(t, "the machine was too busy for a minute: nothing is tested")
}

// leaveASecondOut acquires just before the server would tick, and has that tick come late. A busy machine does some of it too late. Then
// inTime is false, and the server promises nothing: it may have stalled for longer than the second that is made up for.
func leaveASecondOut(t *testing.T, server *servers.Memcached, lock *memcachelock.Lock) (lease *lockstrategy.Lease, inTime bool) {
	t.Helper()
	testenv.Pause(t, server)
	late := time.Duration(0)
	for _, phase := range []time.Duration{930, 920, 930} { // longer than to the next tick
		late = untilPhase(phase * time.Millisecond)
	}
	tick := time.Now()
	server.Resume() // it ticks now, and once a second from now on
	untilPhase(900 * time.Millisecond)
	lease, err := lock.Acquire(t.Context(), "lock", lockstrategy.LeaseFor(time.Second), lockstrategy.WaitAtMost(time.Minute))
	if err != nil { // its answer came after the lease's end, or the item of the round before was there
		return nil, false
	}
	testenv.Pause(t, server)
	paused := time.Now()
	untilPhase(50 * time.Millisecond)
	server.Resume() // its tick is late, and leaves a second out
	return lease, late < 50*time.Millisecond && paused.Sub(tick) < time.Second && time.Since(paused) < 300*time.Millisecond
}

// untilPhase waits until the machine's monotonic clock is that far in its second. It returns how late it was.
func untilPhase(phase time.Duration) (late time.Duration) {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	began, wait := time.Now(), (time.Second+phase-time.Duration(now.Nsec))%time.Second
	time.Sleep(wait)
	return time.Since(began) - wait
}
