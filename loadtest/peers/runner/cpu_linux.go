package runner

import (
	"os/exec"
	"syscall"
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

// together makes the kernel kill a child whose runner was killed.
func together(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// exact makes this thread's sleeps end on time; the kernel's default slack is 50 µs.
func exact() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleep blocks the thread: Go's own timers wait in whole milliseconds when nothing else runs.
func sleep(d time.Duration) {
	if d > 0 {
		t := unix.NsecToTimespec(d.Nanoseconds())
		_ = unix.Nanosleep(&t, nil)
	}
}
