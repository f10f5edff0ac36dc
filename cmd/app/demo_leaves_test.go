//go:build unix

package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"locklab/lab/testenv"
)

// However the demo ends, it leaves no process, port or file behind. The commands that it prints work when pasted.
func TestDemoLeavesNothing(t *testing.T) {
	testenv.Slow(t)
	for name, c := range map[string]struct {
		signal syscall.Signal
		code   int // -1: killed by the signal
		args   []string
	}{
		"killed": {syscall.SIGKILL, -1, nil}, "terminated": {syscall.SIGTERM, exitOK, nil},
		"interrupted": {syscall.SIGINT, exitOK, []string{"--embedded"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testenv.Needs(t, testenv.Curl)
			dir := t.TempDir()
			cmd := process(t, append([]string{"demo", "--keep", "--users=20", "--versions=v3", "--think=1ms"}, c.args...)...)
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			addrs, lines := kept(t, cmd)
			if len(lines) != 6 {
				t.Errorf("the demo prints %q", lines)
			}
			for _, line := range lines {
				if code, err := answerOf(line); err != nil || code != "200" && code != "201" {
					t.Errorf("%s: status %s (%v)", line, code, err)
				}
			}
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			for _, addr := range addrs {
				testenv.Eventually(t, addr+" is closed", func() bool { return !listens(addr) })
			}
			testenv.Eventually(t, "the directory is empty", func() bool {
				entries, err := os.ReadDir(dir)
				return err == nil && len(entries) == 0
			})
			testenv.Eventually(t, "no process has the directory on its command line", func() bool { return len(testenv.Processes(dir)) == 0 })
		})
	}
}

// kept starts a demo with --keep, and returns the addresses and the commands that it prints when it is ready.
func kept(t *testing.T, cmd *exec.Cmd) (addrs, try []string) {
	t.Helper()
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(progress)
	for lines.Scan() {
		if found := regexp.MustCompile(`^  (balancer|instance)  (http://\S+)$`).FindStringSubmatch(lines.Text()); found != nil {
			addrs = append(addrs, found[2])
		}
		if strings.HasPrefix(lines.Text(), "  curl ") {
			try = append(try, lines.Text())
		}
		if strings.HasPrefix(lines.Text(), "  open ") {
			break
		}
	}
	if len(addrs) != 3 {
		t.Fatalf("the demo listens at %v, want a balancer and two instances", addrs)
	}
	go func() { _, _ = io.Copy(io.Discard, progress) }()
	return addrs, try
}

func listens(url string) bool {
	connection, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err == nil {
		connection.Close()
	}
	return err == nil
}
