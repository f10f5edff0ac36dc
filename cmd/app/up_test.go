//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"locklab/lab/burst"
	"locklab/lab/testenv"
)

// runInCheckout runs a command on this checkout.
func runInCheckout(ctx context.Context, args ...string) output {
	return app(ctx, append(args, "--dir", composeDir)...)
}

func TestUpWithAWrongTopology(t *testing.T) {
	docker := fakeDocker{}.start(t)
	wantSentence(t, runInCheckout(t.Context(), "up", "ring"), exitUsage, `"ring"`, "single, master-slave, sentinel, cluster")
	if _, err := os.Stat(docker.calls); err == nil {
		t.Errorf("docker was called: %q", docker.callsWith(""))
	}
}

func TestOutsideOfACheckout(t *testing.T) {
	fakeDocker{}.start(t)
	for command, code := range map[string]int{"up": exitUsage, "down": exitUnavailable, "status": exitUnavailable} {
		dir := t.TempDir()
		wantSentence(t, app(t.Context(), command, "--dir", dir), code, dir, "checkout", "--dir")
	}
}

// app up starts a topology and prints its addresses. The fake docker has no image of k6, because up needs no load tool.
func TestUp(t *testing.T) {
	docker := fakeDocker{}.start(t)
	t.Setenv("NGINX_PORT", "8123")
	got := runInCheckout(t.Context(), "up", "cluster")
	wantText(t, got, exitOK, "up over Redis cluster", "nginx        http://127.0.0.1:8123\n", "live page    http://127.0.0.1:8123/ui/\n",
		"cluster      127.0.0.1:7101 to 7106\n", " down")
	if strings.Contains(got.err, "Started") || strings.Contains(got.err, "has died") {
		t.Errorf("the output of docker or a dead Redis server is mentioned: %s", got.err)
	}
	up := docker.callsWith("docker compose up")
	if want := "TOPOLOGY=cluster APP_VERSION=" + origin() + " "; len(up) != 1 || !strings.HasPrefix(up[0], want) ||
		!strings.Contains(up[0], "--wait") {
		t.Errorf("docker was called as %q", up)
	}
	if got := runInCheckout(t.Context(), "up", "--verbose"); got.code != exitOK || !strings.Contains(got.err, "Started") ||
		!strings.Contains(got.out, "over Redis single") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
}

// app up names the process that uses its port, before it starts anything.
func TestUpWithAPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	docker := fakeDocker{ports: fmt.Sprintf("127.0.0.1:1-%d->1/tcp, 127.0.0.1:%d-65535->1/tcp", port-1, port+1)}.start(t)
	t.Setenv("NGINX_PORT", strconv.Itoa(port))
	got := runInCheckout(t.Context(), "up")
	line := regexp.MustCompile(fmt.Sprintf(`(?m)^  port %d: nginx: .*\(pid %d\).*in \.env`, port, os.Getpid()))
	if got.code != exitUnavailable || !line.MatchString(got.err) || !strings.Contains(got.err, "app doctor") || got.out != "" {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
	if problems := strings.Count(got.err, "\n  "); problems != 1 {
		t.Errorf("%d problems, want 1: %s", problems, got.err)
	}
	if up := docker.callsWith("docker compose up"); len(up) > 0 {
		t.Errorf("docker was still called: %q", up)
	}
}

// Two checkouts have the same project name. The commands in one must not change the containers of the other.
func TestContainersOfAnotherCheckout(t *testing.T) {
	testenv.Slow(t)
	other := t.TempDir()
	ps := fmt.Sprintf(`{"Service":"nginx","State":"running","Labels":"com.docker.compose.project.working_dir=%s"}`, other)
	docker := fakeDocker{ps: ps}.start(t)
	for _, command := range []string{"up", "status", "down"} {
		got := runInCheckout(t.Context(), command)
		if got.code != exitUnavailable || strings.Count(got.err, other) != 1 || !strings.Contains(got.err, "deploy/participant") {
			t.Errorf("%s: exit %d: %s%s", command, got.code, got.out, got.err)
		}
	}
	if changes := append(docker.callsWith("compose up"), docker.callsWith(" down ")...); len(changes) > 0 {
		t.Errorf("docker was still called: %q", changes)
	}
}

// If up fails, the output names the service that failed, and why.
func TestUpFails(t *testing.T) {
	testenv.Slow(t)
	fakeDocker{over: "sentinel", ps: psOutput(t, "sentinel", "exited"), up: "echo 'container locklab-nginx-1 exited (1)' >&2; exit 1"}.start(t)
	got := runInCheckout(t.Context(), "up", "sentinel")
	for _, want := range []string{
		"  nginx is exited: it ended with status 1. Its last line: nginx: [emerg] host not found\n",
		"app: docker compose up: container locklab-nginx-1 exited (1)",
	} {
		if !strings.Contains(got.err, want) {
			t.Errorf("%q is missing in:\n%s", want, got.err)
		}
	}
	if got.code != exitUnavailable || got.out != "" || strings.Contains(got.err, "mysql is") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
}

// Ctrl-C ends a command with exit code 130 and without an error of docker, whatever docker is doing.
func TestInterruptedDocker(t *testing.T) {
	testenv.Slow(t)
	for _, c := range []struct{ command, hangs string }{
		{"up", "info *"}, {"up", "compose up *"}, {"status", "compose ps *"}, {"down", "compose * down *"},
	} {
		t.Run(c.command+" in docker "+c.hangs, func(t *testing.T) {
			hangs := filepath.Join(t.TempDir(), "hangs")
			words := strings.ReplaceAll(shellQuote(c.hangs), "*", "'*'")
			fakeDocker{first: fmt.Sprintf("%s) : >'%s'; exec sleep 600 ;;", words, hangs)}.start(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan output, 1)
			go func() { ended <- runInCheckout(ctx, c.command) }()
			testenv.Eventually(t, "docker hangs", func() bool { _, err := os.Stat(hangs); return err == nil })
			cancel()
			got := <-ended
			if got.code != exitInterrupted || !strings.Contains(got.err, "app: interrupted") || strings.Contains(got.err, "doctor") {
				t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	fakeDocker{}.start(t)
	wantSentence(t, runInCheckout(t.Context(), "status"), exitUnavailable, "not up", "app up")
	fakeDocker{over: "master-slave", ps: psOutput(t, "master-slave", "exited")}.start(t)
	got := runInCheckout(t.Context(), "status")
	if got.code != exitUnavailable || !strings.HasPrefix(got.err, "  nginx is exited: ") || got.out != "" ||
		!strings.Contains(got.err, "app up master-slave") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
	fakeDocker{over: "master-slave", ps: psOutput(t, "master-slave", "running")}.start(t)
	t.Setenv("TOPOLOGY", "single") // app up would start another topology than the one that runs
	t.Setenv("APP_1_PORT", "1")    // not the instance of a lab that is up on this machine
	t.Setenv("APP_2_PORT", "2")
	got = runInCheckout(t.Context(), "status")
	wantText(t, got, exitOK, "over Redis master-slave", "nginx        http://127.0.0.1:8000\n")
}

// Every container is healthy, and an instance does not reach one of its servers.
func TestStatusNamesUnreachableServers(t *testing.T) {
	fakeDocker{over: "single", ps: psOutput(t, "single", "running")}.start(t)
	instance := newInstance(t, map[string]error{"redis": nil, "redlock": errors.New("10.66.6.51:6391 hangs")})
	_, port, _ := strings.Cut(instance, ":")
	t.Setenv("APP_1_PORT", port)
	t.Setenv("APP_2_PORT", port)
	got := runInCheckout(t.Context(), "status")
	if got.code != exitUnavailable || !strings.Contains(got.err, "  app-1 is not ready: redlock: 10.66.6.51:6391 hangs\n") || got.out != "" {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
}

// app status warns if the image has another commit. An image from `docker compose up --build` has none to compare.
func TestStatusComparesCommits(t *testing.T) {
	before := stamp
	stamp = "1234567"
	t.Cleanup(func() { stamp = before })
	for image, other := range map[string]bool{"1234567": false, unknownBuild: false, "7654321": true} {
		if isOtherBuild(burst.Health{Build: image}) != other {
			t.Errorf("an image of %s: want %t", image, other)
		}
	}
	fakeDocker{over: "single", ps: psOutput(t, "single", "running")}.start(t)
	listen := serveLocal(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"build": "7654321", "instance": "8080", "ready": true}`)
	}))
	t.Setenv("APP_1_PORT", listen[strings.LastIndex(listen, ":")+1:])
	wantText(t, runInCheckout(t.Context(), "status"), exitOK, "built from 7654321")
}

// app down removes the topology that is running.
func TestDown(t *testing.T) {
	docker := fakeDocker{over: "sentinel", ps: psOutput(t, "sentinel", "running")}.start(t)
	got := runInCheckout(t.Context(), "down")
	if got.code != exitOK || !strings.Contains(got.out, "The lab is down") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
	down := docker.callsWith(" down ")
	if len(down) != 1 || !strings.HasPrefix(down[0], "TOPOLOGY=sentinel ") || !strings.Contains(down[0], "--remove-orphans") ||
		!strings.Contains(down[0], "load") {
		t.Errorf("docker was called as %q", down)
	}
}
