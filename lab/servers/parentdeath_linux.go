package servers

import "syscall"

// supervised makes the kernel kill a server whose supervisor was killed. Its own process group has the children of the server.
func supervised() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
