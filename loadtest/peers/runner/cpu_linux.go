package runner

import (
	"os"
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

// sleepUntil waits for a timer of the kernel: Go's own timers wait in whole milliseconds when nothing else runs.
func sleepUntil(due time.Time) {
	d := time.Until(due)
	if d <= 0 {
		return
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		time.Sleep(d)
		return
	}
	timer := os.NewFile(uintptr(fd), "timer")
	defer timer.Close()
	if unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}, nil) == nil {
		_, _ = timer.Read(make([]byte, 8))
	}
}
