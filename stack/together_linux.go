package stack

import "syscall"

// together makes the kernel kill a server whose guard was killed.
func together() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
