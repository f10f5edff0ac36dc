package stack

import (
	"errors"
	"syscall"
)

const (
	stop    = syscall.Signal(0)
	proceed = syscall.Signal(0)
)

// send does not work: Windows has no such signals. Nothing can be started there in the first place.
func send(int, syscall.Signal) error { return errors.ErrUnsupported }

func apart() *syscall.SysProcAttr { return nil }

func private(int) {}

func stopped(int) bool { return false }
