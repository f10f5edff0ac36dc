//go:build unix

package compose_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/lab/servers/compose"
	"locklab/lab/testenv"
)

// fakeDocker puts a script named docker before everything on the PATH. It returns the file to which
// each call adds a line: its arguments, after what the script's user puts before them.
func fakeDocker(t *testing.T, script string) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	text := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$TOPOLOGY $SAID $(pwd -P) $*\" >>'%s'\n%s\n", calls, script)
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
	docker := compose.Docker{Project: load(t, dir, "cluster"), Env: []string{"SAID=so"}}
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		do   func(context.Context) error
		args string
	}{
		{
			func(ctx context.Context) error { return docker.Up(ctx, "redis-ready", "web") },
			"compose up --detach --wait --wait-timeout 120 --remove-orphans redis-ready web",
		},
		{
			func(ctx context.Context) error {
				return compose.Docker{Project: docker.Project, Env: docker.Env, Build: true}.Up(ctx)
			},
			"compose up --detach --wait --wait-timeout 120 --remove-orphans --build",
		},
		{docker.Down, "compose --profile=load down --remove-orphans --timeout 15"},
		{func(ctx context.Context) error { _, err := docker.Status(ctx); return err }, "compose ps --all --format json"},
	} {
		if err := c.do(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := called(t, calls)
		if got, want := all[len(all)-1], "cluster so "+at+" "+c.args; got != want {
			t.Errorf("docker was called as %q, want %q", got, want)
		}
	}
	if all := called(t, calls); len(all) != 4 {
		t.Errorf("docker was called %d times: %q", len(all), all)
	}
}

func TestAContainerIsKnownBeforeItIsBroken(t *testing.T) {
	calls := fakeDocker(t, "echo "+quote(forms["lines"](healthy("web", "redis-single"))))
	docker := compose.Docker{Project: load(t, small(t, ""), "")}
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
	fakeDocker(t, "exit 1")
	if _, err := c.Wait(t.Context()); err == nil {
		t.Error("a wait that failed has waited")
	}
	if _, err := c.Run(t.Context(), "redis-cli", "ping"); err == nil {
		t.Error("a command that failed has run")
	}
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

// A user's own setting is no change of the checkout. Docker reads .env by itself, and COMPOSE_ENV_FILES instead where it is set.
func TestSettingsOfOnesOwnGoBeforeTheDefaults(t *testing.T) {
	dir := small(t, "TOPOLOGY=single")
	for name, text := range map[string]string{
		".env": "COMPOSE_PROJECT_NAME=mine\nWEB_PORT=7005\nTOPOLOGY=cluster\n", "third": "WEB_PORT=7006\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := load(t, dir, "")
	if p.Files.Name != "mine" || p.Published("web") != "127.0.0.1:7005" || p.Topology != "cluster" || p.PortVariable(7005) != "WEB_PORT" {
		t.Errorf("%s over %s publishes web at %s", p.Files.Name, p.Topology, p.Published("web"))
	}
	t.Setenv("COMPOSE_ENV_FILES", "third")
	if p := load(t, dir, ""); p.Published("web") != "127.0.0.1:7006" || p.Files.Name != "small" || p.Topology != "single" {
		t.Errorf("COMPOSE_ENV_FILES says third: %s over %s publishes web at %s", p.Files.Name, p.Topology, p.Published("web"))
	}
}

func TestWhatDockerSaysIsShownAndItsLastLineIsTheError(t *testing.T) {
	p := load(t, small(t, ""), "")
	fakeDocker(t, `echo 'Container small-web-1 Starting'; echo 'warning: old file' >&2; printf 'no space left on device\n\n' >&2; exit 17`)
	var progress bytes.Buffer
	docker := compose.Docker{Project: p, Progress: &progress}
	for what, do := range map[string]func(context.Context) error{
		"up": func(ctx context.Context) error { return docker.Up(ctx) }, "down": docker.Down,
		"ps": func(ctx context.Context) error { _, err := docker.Status(ctx); return err },
	} {
		t.Run(what, func(t *testing.T) {
			progress.Reset()
			err := do(t.Context())
			wantError(t, err, "docker compose "+what+": no space left on device: exit status 17")
			if strings.Contains(err.Error(), "warning") || strings.Contains(err.Error(), "\n") {
				t.Errorf("it is more than a sentence: %q", err)
			}
			if shown := progress.String(); what != "ps" && (!strings.Contains(shown, "Starting") || !strings.Contains(shown, "warning")) {
				t.Errorf("what docker said was not shown: %q", shown)
			}
		})
	}
	_, err := compose.Running(t.Context(), small(t, ""))
	wantError(t, err, "docker compose ps: no space left on device")
	fakeDocker(t, "exit 3")
	wantError(t, docker.Up(t.Context()), "docker compose up: no output: exit status 3")
}

func TestWithoutDockerTheDoctorIsNamed(t *testing.T) {
	dir := small(t, "")
	docker := compose.Docker{Project: load(t, dir, "")}
	t.Setenv("PATH", t.TempDir())
	want := "docker is not on the PATH: app doctor says what a workshop needs"
	_, status := docker.Status(t.Context())
	_, running := compose.Running(t.Context(), dir)
	for i, err := range []error{docker.Up(t.Context()), docker.Down(t.Context()), status, running} {
		if err == nil || err.Error() != want {
			t.Errorf("%d: the error is %v", i, err)
		}
	}
}

func TestAnAnswerThatIsNotJSONIsAnError(t *testing.T) {
	p := load(t, small(t, ""), "")
	for _, answer := range []string{"NAME  IMAGE", "[{]", `{"Service":"web"} web`} {
		fakeDocker(t, "echo "+quote(answer))
		_, err := compose.Docker{Project: p}.Status(t.Context())
		wantError(t, err, "docker compose ps")
	}
}

// A docker that hangs is interrupted first, so that it can clean up, and then killed. On a busy machine the kill, two seconds later, may
// come before it has cleaned up: then it is tried again.
func TestTheEndOfTheContextIsTheEndOfDocker(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		trap   bool // it catches the interrupt
	}{
		"that ends": {
			`sleep 600 >/dev/null 2>&1 & trap "kill $!; echo caught >>'%[1]s'; exit 130" INT; echo $$ >'%[1]s'; wait`, true,
		},
		"that does not": {`trap '' INT; echo $$ >'%[1]s'; exec sleep 600`, false},
	} {
		t.Run(name, func(t *testing.T) {
			caught := false
			for range 3 {
				if caught = endOfDocker(t, c.script); caught == c.trap {
					return
				}
			}
			t.Errorf("it caught the interrupt: %v", caught)
		})
	}
}

// endOfDocker ends the context of a docker that hangs, and reports whether docker caught the interrupt. No process may be left.
func endOfDocker(t *testing.T, script string) (caught bool) {
	t.Helper()
	p, file := load(t, small(t, ""), ""), filepath.Join(t.TempDir(), "pid")
	fakeDocker(t, fmt.Sprintf(script, file))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- compose.Docker{Project: p}.Up(ctx) }()
	testenv.Eventually(t, "docker hangs", func() bool { text, _ := os.ReadFile(file); return bytes.HasSuffix(text, []byte("\n")) })
	cancel()
	select {
	case err := <-ended:
		wantError(t, err, "docker compose up")
	case <-time.After(time.Minute):
		t.Fatal("docker hangs on")
	}
	text, _ := os.ReadFile(file)
	lines := strings.Fields(string(text))
	var pid int
	fmt.Sscan(lines[0], &pid)
	if syscall.Kill(pid, 0) == nil {
		t.Errorf("docker, pid %d, runs on", pid)
	}
	return slices.Contains(lines, "caught")
}

// Compose fails as soon as a container is unhealthy, also when that is over. Up waits for the next check, and only then tries once more.
func TestUpWaitsForTheNextHealthCheck(t *testing.T) {
	for name, c := range map[string]struct {
		then string // what docker compose ps says after the first time
		ups  int
		ok   bool
	}{
		"it recovers":             {"healthy", 2, true},
		"something else is wrong": {"", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := load(t, small(t, ""), "")
			seen := filepath.Join(t.TempDir(), "seen")
			ps := func(health string) string {
				return quote(forms["lines"]([]container{{Name: "small-web-1", Service: "web", State: "running", Health: health}}))
			}
			first := "unhealthy"
			if !c.ok {
				first = "healthy"
			}
			calls := fakeDocker(t, fmt.Sprintf(`case "$*" in
"compose up "*) test -e %[1]s || { echo 'container small-web-1 is unhealthy' >&2; exit 1; } ;;
*) if test -e %[1]s; then echo %[3]s; else : >%[1]s; echo %[2]s; fi ;;
esac`, seen, ps(first), ps(c.then)))
			err := compose.Docker{Project: p}.Up(t.Context())
			ups := 0
			for _, call := range called(t, calls) {
				if strings.Contains(call, " compose up ") {
					ups++
				}
			}
			if (err == nil) != c.ok || ups != c.ups {
				t.Errorf("up was called %d times, and the error is %v", ups, err)
			}
		})
	}
}
