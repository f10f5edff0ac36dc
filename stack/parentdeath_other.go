//go:build !linux

package stack

import "syscall"

func parentDeathSignal() *syscall.SysProcAttr { return nil }
