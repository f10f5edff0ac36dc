//go:build unix

package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/lab/testenv"
)

// fakeDocker puts a script named docker before everything on the PATH.
func fakeDocker(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestAClientThatIsTooNewIsToldTheVersionToSet(t *testing.T) {
	fakeDocker(t, `echo '{"ServerVersion":"","ClientInfo":{"Version":"28.2.2"}}'
echo 'Error response from daemon: client version 1.50 is too new. Maximum supported API version is 1.41' >&2
exit 1`)
	m := machine{run: execute}
	want(t, m.docker(t.Context()), false, "client version 1.50 is too new", "export DOCKER_API_VERSION=1.41")
}

func TestAMissingProgramIsReported(t *testing.T) {
	_, err := execute(t.Context(), "locklab-no-such-program")
	if !errors.Is(err, exec.ErrNotFound) || !strings.HasPrefix(err.Error(), "locklab-no-such-program is not on the PATH") {
		t.Errorf("%v", err)
	}
}

// A docker that hangs has started a plugin that hangs: both must be killed, and the checks must report it.
func TestADockerThatHangsIsKilledWithWhatItStarted(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	fakeDocker(t, fmt.Sprintf("sleep 60 & echo $! > %s.new; mv %s.new %s; wait", pid, pid, pid))
	var text []byte
	for timeout := 500 * time.Millisecond; len(text) == 0; timeout *= 2 { // a slow machine needs longer to start the plugin
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		began := time.Now()
		m := machine{run: execute}
		results := Run(ctx, []Check{{"docker", m.docker}, {"compose", m.compose}})
		cancel()
		if took := time.Since(began); took > timeout+5*time.Second {
			t.Errorf("it took %s", took)
		}
		want(t, results[:1], false, "docker: no answer", "restart Docker")
		want(t, results[1:], false, "not known: docker: no answer")
		text, _ = os.ReadFile(pid)
	}
	var plugin int
	fmt.Sscan(string(text), &plugin)
	testenv.Eventually(t, "the plugin has ended", func() bool { return syscall.Kill(plugin, 0) != nil || zombie(plugin) })
}

// zombie reports whether a process ended and its parent has not asked for its status: init does, where there is one.
func zombie(pid int) bool {
	state, _ := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	return strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

// asChild makes this test binary check its limits and nothing else.
const asChild = "LOCKLAB_TEST_DOCTOR_LIMITS"

func TestLimitsAreThoseThatAChildGets(t *testing.T) {
	if os.Getenv(asChild) != "" {
		m := machine{run: execute}
		fmt.Println("limits:", m.limits(t.Context()))
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The soft limit alone: Go raises its own up to the hard one.
	child := exec.Command("sh", "-c", `ulimit -S -n 100 && exec "$0" -test.run='^TestLimitsAreThoseThatAChildGets$'`, self)
	child.Env = append(os.Environ(), asChild+"=1")
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "100 open files") || !strings.Contains(string(out), "ulimit -n 8192") {
		t.Fatalf("%v: %s", err, out)
	}
}
