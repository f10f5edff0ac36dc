//go:build !linux

package stack

import "syscall"

func supervised() *syscall.SysProcAttr { return OwnProcessGroup() }
