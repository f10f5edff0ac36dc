//go:build unix

package compose_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"locklab/lab/servers/compose"
	"locklab/lab/testenv"
	"locklab/lab/testenv/composefiles"
)

// fakeDocker puts a script named docker before everything on the PATH. It returns the file to which
// each call adds a line: its arguments, after what the script's user puts before them.
func fakeDocker(t *testing.T, script string) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	text := fmt.Sprintf("#!/bin/sh\n%s\nprintf '%%s\\n' \"$TOPOLOGY $SAID $(pwd -P) $*\" >>'%s'\n%s\n", composefiles.Config(), calls, script)
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return calls
}

// called are the lines of calls.
func called(t *testing.T, calls string) []string {
	t.Helper()
	text, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// quote makes text one word of a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func TestDockerIsToldTheTopologyOfTheProjectInItsDirectory(t *testing.T) {
	dir := small(t, "TOPOLOGY=single")
	t.Setenv("TOPOLOGY", "single") // of this shell; the argument goes before it
	calls := fakeDocker(t, "")
	docker := compose.Docker{Project: load(t, dir, "cluster"), Env: []string{"SAID=so"}, Build: true}
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(docker.Up(t.Context(), "redis-ready", "web"), docker.Down(t.Context()), docker.Claim(t.Context())); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"cluster so " + at + " compose up --detach --wait --wait-timeout 120 --remove-orphans --build redis-ready web",
		"cluster so " + at + " compose --profile=load down --remove-orphans --timeout 15",
		"cluster so " + at + " compose ps --all --format json",
	}
	if got := called(t, calls); !slices.Equal(got, want) {
		t.Errorf("docker was called as %q, want %q", got, want)
	}
}

func TestAContainerIsKnownBeforeItIsBroken(t *testing.T) {
	docker := compose.Docker{Project: load(t, small(t, ""), "")}
	calls := fakeDocker(t, "echo "+quote(lines(healthy("web", "redis-single")...)))
	c, err := docker.Container(t.Context(), "redis-single")
	if err != nil || len(called(t, calls)) != 1 {
		t.Fatalf("%v, %q; want one question", err, called(t, calls))
	}
	for args, do := range map[string]func(context.Context) error{
		"kill small-redis-single-1":                         c.Kill,
		"pause small-redis-single-1":                        c.Pause,
		"unpause small-redis-single-1":                      c.Unpause,
		"network disconnect small_lab small-redis-single-1": c.Disconnect,
		"network connect --ip 10.0.0.7 --alias redis-single small_lab small-redis-single-1": c.Connect,
		"wait small-redis-single-1":                func(ctx context.Context) error { _, err := c.Wait(ctx); return err },
		"exec small-redis-single-1 redis-cli ping": func(ctx context.Context) error { _, err := c.Run(ctx, "redis-cli", "ping"); return err },
	} {
		if err := do(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all := called(t, calls); !strings.HasSuffix(all[len(all)-1], " "+args) {
			t.Errorf("docker was called as %q, want %q", all[len(all)-1], args)
		}
	}
	_, err = docker.Container(t.Context(), "db")
	wantError(t, err, "db has no container")
}

// A second project of the same files has a name, a network and ports of its own, and Docker gets them as well.
func TestChangedSettingsGoBeforeTheFiles(t *testing.T) {
	dir := small(t, "")
	fakeDocker(t, `echo "$COMPOSE_PROJECT_NAME $WEB_PORT"`)
	p, err := compose.Load(t.Context(), dir, "", "COMPOSE_PROJECT_NAME=beside", "WEB_PORT=7001")
	if err != nil {
		t.Fatal(err)
	}
	if at := p.Published("web"); p.Files.Name != "beside" || at != "127.0.0.1:7001" {
		t.Errorf("%s publishes web at %s", p.Files.Name, at)
	}
	var said bytes.Buffer
	if err := (compose.Docker{Project: p, Progress: &said}).Up(t.Context()); err != nil || said.String() != "beside 7001\n" {
		t.Errorf("docker got %q, %v", &said, err)
	}
}

func TestWhatDockerSaysIsShownAndItsLastLineIsTheError(t *testing.T) {
	p := load(t, small(t, ""), "")
	fakeDocker(t, `echo 'Container small-web-1 Starting'; echo 'warning: old file' >&2; printf 'no space left on device\n\n' >&2; exit 17`)
	var progress bytes.Buffer
	docker := compose.Docker{Project: p, Progress: &progress}
	wantError(t, docker.Down(t.Context()), "docker compose down: no space left on device: exit status 17")
	if shown := progress.String(); !strings.Contains(shown, "Starting") || !strings.Contains(shown, "warning") {
		t.Errorf("what docker said was not shown: %q", shown)
	}
	wantError(t, docker.Claim(t.Context()), "docker compose ps: no space left on device: exit status 17")
	fakeDocker(t, `echo "Run 'docker --help' for more information" >&2; exit 1`)
	wantError(t, docker.Up(t.Context()), "docker has no plugin compose: app doctor")
	t.Setenv("PATH", t.TempDir())
	wantError(t, docker.Up(t.Context()), "docker is not on the PATH: app doctor")
}

// A docker that hangs is interrupted first, so that it can clean up, and then killed.
func TestTheEndOfTheContextIsTheEndOfDocker(t *testing.T) {
	p, file := load(t, small(t, ""), ""), filepath.Join(t.TempDir(), "pid")
	fakeDocker(t, fmt.Sprintf(`trap '' INT; echo $$ >'%s'; exec sleep 600`, file))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- compose.Docker{Project: p}.Up(ctx) }()
	testenv.Eventually(t, "docker hangs", func() bool { text, _ := os.ReadFile(file); return bytes.HasSuffix(text, []byte("\n")) })
	cancel()
	wantError(t, <-ended, "docker compose up")
	text, _ := os.ReadFile(file)
	var pid int
	if fmt.Sscan(string(text), &pid); syscall.Kill(pid, 0) == nil {
		t.Errorf("docker, pid %d, runs on", pid)
	}
}

// Compose fails as soon as a container is unhealthy, also when that is over. Up waits for the next check, and only then tries once more.
func TestUpWaitsForTheNextHealthCheck(t *testing.T) {
	for first, want := range map[string]int{"unhealthy": 2, "healthy": 1} { // 1: something else is wrong
		p := load(t, small(t, ""), "")
		seen := filepath.Join(t.TempDir(), "seen")
		ps := func(health string) string {
			return quote(lines(container{Name: "small-web-1", State: "running", Health: health}))
		}
		calls := fakeDocker(t, fmt.Sprintf(`case "$*" in
"compose up "*) test -e %[1]s || { echo 'container small-web-1 is unhealthy' >&2; exit 1; } ;;
*) if test -e %[1]s; then echo %[3]s; else : >%[1]s; echo %[2]s; fi ;;
esac`, seen, ps(first), ps("healthy")))
		err := compose.Docker{Project: p}.Up(t.Context())
		if ups := strings.Count(strings.Join(called(t, calls), "\n"), " compose up "); (err == nil) != (want == 2) || ups != want {
			t.Errorf("%s: up was called %d times, and the error is %v", first, ups, err)
		}
	}
}
