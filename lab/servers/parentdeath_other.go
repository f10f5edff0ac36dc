//go:build !linux

package servers

import "syscall"

func supervised() *syscall.SysProcAttr { return OwnProcessGroup() }
