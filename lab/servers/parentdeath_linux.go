package servers

import "syscall"

// endsWithParent makes the kernel kill a server when this program ends. The server leads a process group, which has its children as well.
//
// Linux sends the signal when the thread ends that started the server. A thread of a Go program ends before the program only if a goroutine
// locks it and ends, and none does that here.
func endsWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
