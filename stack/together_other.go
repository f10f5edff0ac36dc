//go:build !linux

package stack

import "syscall"

func together() *syscall.SysProcAttr { return nil }
