package servers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// These internal variables tell a process of this binary what it is, before it reads its command line.
const (
	roleVariable = "LOCKLAB_STACK_ROLE" // reaper, miniredis, one that a package has registered; empty: an ordinary program
	addrVariable = "LOCKLAB_STACK_ADDR" // the address at which a miniredis listens

	reaperRole    = "reaper"
	miniredisRole = "miniredis"
)

// pidSuffix ends the names of the files in a stack's directory that hold the process ids of its running servers.
const pidSuffix = ".pid"

// Reexec must be the first call of main and TestMain in every program that uses a [Stack]. In a
// process that a stack started it does that process's work and does not return.
func Reexec() {
	role := os.Getenv(roleVariable)
	os.Unsetenv(roleVariable)
	switch role {
	case reaperRole:
		reap(os.Stdin)
		os.Exit(0)
	case miniredisRole:
		os.Exit(serveMiniredis(os.Stdout))
	}
	if serve := roles[role]; serve != nil {
		os.Exit(serve(os.Stdin, os.Stdout))
	}
}

// reaper is the input of this program's reaper, which reads the directories of stacks from it. The kernel closes it when this program ends.
var reaper = sync.OnceValues(func() (io.Writer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = []string{roleVariable + "=" + reaperRole}
	cmd.SysProcAttr = OwnProcessGroup()
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	return in, err
})

// reapAtEnd lets the reaper remove the directory of a stack, and kill the servers of it that run, when this program has ended.
func reapAtEnd(dir string) error {
	in, err := reaper()
	if err == nil {
		_, err = fmt.Fprintln(in, dir)
	}
	if err != nil {
		return fmt.Errorf("start the process that cleans up: %w", err)
	}
	return nil
}

// reap reads the directories of stacks until the program that started the stacks has ended. Then it kills the servers that are left, and
// removes the directories that are left.
func reap(in io.Reader) {
	ignoreStopSignals()
	var dirs []string
	for lines := bufio.NewScanner(in); lines.Scan(); {
		dirs = append(dirs, lines.Text())
	}
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if strings.HasSuffix(entry.Name(), pidSuffix) {
				killNamedIn(filepath.Join(dir, entry.Name()))
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, dir := range dirs {
		_ = Until(ctx, func(context.Context) error { return os.RemoveAll(dir) }) // a server that is about to end may still write
	}
}

// killNamedIn kills the group of the process whose id is in a file.
func killNamedIn(pidFile string) {
	text, _ := os.ReadFile(pidFile)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 && strings.HasSuffix(string(text), "\n") {
		killGroup(pid)
	}
}

// ignoreStopSignals keeps the reaper alive when the user stops the program that started it.
func ignoreStopSignals() { signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) }
