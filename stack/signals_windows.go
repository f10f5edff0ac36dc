package stack

import (
	"errors"
	"syscall"
)

// Windows has no such signals. These exist so that the package compiles; starting a server fails before they are used.
const (
	sigStop     = syscall.Signal(0)
	sigContinue = syscall.Signal(0)
)

func kill(int, syscall.Signal) error { return errors.ErrUnsupported }

func ownProcessGroup() *syscall.SysProcAttr { return nil }

func closeOnExec(int) {}

func stopped(int) bool { return false }
