package servers

import (
	"errors"
	"syscall"
)

// errSystem is why no stack is made on this system.
var errSystem = errors.New("this program starts no servers on Windows: run it in WSL. Commands that start none work here, " +
	"such as app serve with servers that run already, app burst URL, and app lab list")

// Windows has no such signals. These exist so that the package compiles; starting a server fails before they are used.
const (
	sigStop     = syscall.Signal(0)
	sigContinue = syscall.Signal(0)
)

func killGroup(int) {}

func OwnProcessGroup() *syscall.SysProcAttr { return nil }

func stopped(int) bool { return false }
