//go:build unix

package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"locklab/experiments/burst"
	"locklab/internal/testenv"
	"locklab/stack"
)

// Two instances share one limit, one log and one Redis. Each calls the supplier over HTTP, which is itself when no flag says otherwise.
func TestInstancesShareALimit(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		node := testenv.Redis(t, real)
		a := serving(t, node, "--supplier-limit=3")
		b := serving(t, node, "--supplier-limit=3")
		for n := range 4 {
			url := []string{a.URL, b.URL}[n%2] + "/r4/supplier/call"
			status, header, body := ask(t, http.MethodPost, url)
			switch {
			case n < 3 && (status != http.StatusOK || header.Get("RateLimit-Remaining") != []string{"2", "1", "0"}[n]):
				t.Errorf("call %d: %d %v %s", n, status, header, body)
			case n == 3 && (status != http.StatusTooManyRequests || header.Get("Retry-After") == "" || !strings.Contains(body, "come back in")):
				t.Errorf("call %d: %d %v %s", n, status, header, body)
			}
		}
		const want = `{"calls":3,"limit":3,"window_ms":60000,"most_in_one_window":3,"over":0}`
		if _, _, body := ask(t, http.MethodGet, b.URL+"/supplier/r4/rates"); body != want {
			t.Errorf("the supplier says %s", body)
		}
	})
}

// Redis is down: closed loses the call, and open makes it. Here the supplier has its log in the same Redis, and cannot take it.
func TestLimitersFail(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	node := testenv.Redis(t, true)
	closed, open := serving(t, node), serving(t, node, "--limiter-fails=open")
	node.Kill()
	for url, want := range map[string]int{closed.URL: http.StatusServiceUnavailable, open.URL: http.StatusOK} {
		if status, _, body := ask(t, http.MethodGet, url+"/r3/quotes"); status != want {
			t.Errorf("%d %s, want %d", status, body, want)
		}
	}
	if status, _, body := ask(t, http.MethodPost, open.URL+"/r3/supplier/call"); status != http.StatusBadGateway {
		t.Errorf("%d %s", status, body)
	}
}

func TestLimitsThatCannotWork(t *testing.T) {
	for flag, says := range map[string]string{
		"--supplier-limit=0": "must be 1 to", "--supplier-limit=-1": "must be 1 to", "--supplier-window=0s": "must be 1ms to",
		"--supplier-window=1500us": "whole milliseconds", "--nodes=0": "--nodes", "--supplier=localhost:80": "http://host:port",
		"--supplier=http://": "http://host:port", "--limiter-fails=maybe": "closed",
	} {
		wantSentence(t, app(t.Context(), "serve", flag), exitUsage, says)
	}
}

func TestAnInstanceReachesItself(t *testing.T) {
	for listening, want := range map[string]string{
		"127.0.0.1:80": "http://127.0.0.1:80", "0.0.0.0:81": "http://127.0.0.1:81", "[::]:82": "http://127.0.0.1:82",
		"[::1]:83": "http://[::1]:83",
	} {
		addr, err := net.ResolveTCPAddr("tcp", listening)
		if err != nil {
			t.Fatal(err)
		}
		if got := ownURL(addr); got != want {
			t.Errorf("%s: %s, want %s", listening, got, want)
		}
	}
}

// The load script's threshold fails for a limiter that exceeds the limit, and holds for one that does not.
func TestK6JudgesTheLimit(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.K6)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	service := burst.Service{App: []string{self, "serve"}, Topology: "single", Real: stack.RealRedis(), Instances: 2, Listen: "127.0.0.1:0"}
	running, err := service.Start(testenv.Context(t), testenv.Stack(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for algorithm, want := range map[string]int{"r4": 0, "r1": 99} {
		run := exec.CommandContext(testenv.Context(t), "k6", "run", "--quiet", "--no-usage-report", "-e", "BASE_URL="+running.URL,
			"-e", "ALGORITHM="+algorithm, "-e", "DURATION=7s", "../../loadtest/k6/ratelimit.js")
		out, _ := run.CombinedOutput()
		says := algorithm + ": the supplier allows 5 calls in 5000 ms"
		if got := run.ProcessState.ExitCode(); got != want || !strings.Contains(string(out), says) {
			t.Errorf("%s: exit %d, want %d: %s", algorithm, got, want, out)
		}
	}
}
