//go:build unix

package stack

import "syscall"

const (
	stop    = syscall.SIGSTOP
	proceed = syscall.SIGCONT
)

func send(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }

// apart gives a guard a process group of its own, so that Ctrl-C on the terminal reaches only the
// program that started it, which then stops its servers in order.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// private keeps an inherited descriptor from the guard's own child.
func private(fd int) { syscall.CloseOnExec(fd) }
