package runner

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpu is the processor time that process pid has used so far, to the nanosecond.
func cpu(pid int) time.Duration {
	var t unix.Timespec
	clock := int32(^pid<<3 | 2) // the kernel's MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)
	if unix.ClockGettime(clock, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
