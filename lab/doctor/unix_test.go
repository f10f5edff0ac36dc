//go:build unix

package doctor

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
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

// What a docker says to its user counts, and not its warnings. One that hangs is ended, and the checks report it.
func TestADockerThatFails(t *testing.T) {
	m := machine{run: execute}
	fakeDocker(t, `echo 'WARNING: something else' >&2
echo 'Error response from daemon: client version 1.50 is too new. Maximum supported API version is 1.41' >&2
exit 1`)
	want(t, m.docker(t.Context()), false, "Error response from daemon: client version 1.50 is too new", "export DOCKER_API_VERSION=1.41")
	fakeDocker(t, "trap '' INT; sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	results := Run(ctx, []Check{{"docker", m.docker}, {"compose", m.compose}})
	want(t, results[:1], false, "docker: no answer", "restart Docker")
	want(t, results[1:], false, "not known: docker: no answer")
	t.Setenv("PATH", t.TempDir())
	want(t, m.docker(t.Context()), false, "docker is not on the PATH", "install Docker")
}
