//go:build unix

package servers

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

var errSystem error // stacks are made on this system

const (
	sigStop     = syscall.SIGSTOP
	sigContinue = syscall.SIGCONT
)

// killGroup kills every process of a group.
func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// OwnProcessGroup protects a process from Ctrl-C on the terminal. Only the program that started it receives Ctrl-C, and then
// stops its servers one after the other.
func OwnProcessGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// stopped reports whether no thread of a process runs: SIGSTOP takes some time to stop all of them, and one that still runs may
// answer.
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
