package stack

import "syscall"

// parentDeathSignal makes the kernel kill a server whose supervisor was killed.
func parentDeathSignal() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
