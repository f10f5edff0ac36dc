//go:build unix

package stack

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

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

// stopped reports whether no thread of a process runs any more: the signal that stops it takes its
// time, and what is still running may answer.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if len(threads) == 0 { // not Linux
		state, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
		return strings.HasPrefix(string(state), "T")
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err == nil && !bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T")) {
			return false
		}
	}
	return true
}
