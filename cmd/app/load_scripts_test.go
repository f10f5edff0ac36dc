//go:build unix

package main

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/experiments/burst"
	"locklab/internal/testenv"
	"locklab/stack"
)

// loaded starts two instances behind a balancer, for load scripts.
func loaded(t *testing.T) *url.URL {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	service := burst.Service{
		App: []string{self, "serve"}, Topology: "single", Real: stack.RealRedis(), Instances: 2, Named: true, Listen: "127.0.0.1:0",
		Think: 100 * time.Millisecond, Flags: []string{"--item-query=1s"}, // buyers read together, and loads overlap
	}
	running, err := service.Start(testenv.Context(t), testenv.Stack(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	balancer, err := url.Parse(running.URL)
	if err != nil {
		t.Fatal(err)
	}
	return balancer
}

// standIn is an address at which a path under one prefix is served by another: what a script must find out about.
func standIn(t *testing.T, balancer *url.URL, asked, served string) string {
	t.Helper()
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		if path, ok := strings.CutPrefix(r.In.URL.Path, "/"+asked+"/"); ok {
			r.Out.URL.Path = "/" + served + "/" + path
		}
		r.SetURL(balancer)
	}}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// A load script's thresholds hold for what keeps its promise, and fail for what does not. Where a script expects a loss, another version
// stands in for one that must lose nothing.
func TestK6Judges(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.K6)
	balancer := loaded(t)
	sale, hot := []string{"USERS=200", "PIECES=20"}, []string{"USERS=50"}
	for _, c := range []struct {
		name, script string
		env          []string
		served       string // instead of the version that env names; empty: that one
		code         int
		says         string
	}{
		{"a sliding window", "ratelimit", []string{"ALGORITHM=r4", "DURATION=7s"}, "", 0, "r4: the supplier allows 5 calls in 5000 ms"},
		{"a counter in each instance", "ratelimit", []string{"ALGORITHM=r1", "DURATION=7s"}, "", 99, "r1: the supplier allows 5 calls"},
		{"a sale with a lock", "shop", append(sale, "VERSION=v3"), "", 0, "Outcome: nothing oversold\n"},
		{"a sale without a lock", "shop", append(sale, "VERSION=v1"), "", 0, "as expected without a common lock\n"},
		{"a sale with a lock that is none", "shop", append(sale, "VERSION=v3"), "v1", 99, "Outcome: OVERSOLD"},
		{"a hot item, one load", "cache", append(hot, "CACHE=c3"), "", 0, "reached the database  1 (at most 1)"},
		{"a hot item without protection", "cache", append(hot, "CACHE=c3"), "c0", 99, "thresholds on metrics 'lab_loads'"},
		{"an update that is seen", "cache", append(hot, "CACHE=c5"), "", 0, "older than the update    0\n"},
		{"an update that is not seen", "cache", append(hot, "CACHE=c5"), "c7", 99, "older than the update    50\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := balancer.String()
			if c.served != "" {
				_, asked, _ := strings.Cut(c.env[len(c.env)-1], "=")
				address = standIn(t, balancer, asked, c.served)
			}
			args := []string{"run", "--quiet", "--no-usage-report", "-e", "BASE_URL=" + address, "-e", "INSTANCES=instance-1,instance-2"}
			for _, variable := range c.env {
				args = append(args, "-e", variable)
			}
			run := exec.CommandContext(testenv.Context(t), "k6", append(args, "../../loadtest/k6/"+c.script+".js")...)
			out, _ := run.CombinedOutput()
			if got := run.ProcessState.ExitCode(); got != c.code || !strings.Contains(string(out), c.says) {
				t.Errorf("exit %d, want %d and %q: %s", got, c.code, c.says, out)
			}
		})
	}
}

// The plan's last sample, from the database, holds for a version that sells what there is, and fails for one that oversells.
func TestJMeterJudgesTheSale(t *testing.T) {
	t.Parallel()
	const plans = "../../loadtest/jmeter/"
	if err := exec.CommandContext(t.Context(), plans+"jmeter", "--version", "-j", filepath.Join(t.TempDir(), "log")).Run(); err != nil {
		testenv.Skip(t, "JMeter is missing: run make jmeter")
	}
	balancer := loaded(t)
	for version, succeeded := range map[string]int{"v3": 202, "v1": 201} { // the reset, 200 buyers, and the last one or not
		file := filepath.Join(t.TempDir(), "run.jtl")
		run := exec.CommandContext(testenv.Context(t), plans+"jmeter", "-n", "-f", "-t", plans+"shop.jmx", "-l", file, "-j", file+".log",
			"-Jhost="+balancer.Hostname(), "-Jport="+balancer.Port(), "-Jversion="+version, "-Jusers=200", "-Jpieces=20")
		out, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", version, err, out)
		}
		table, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(table)), "\n")
		final, good := lines[len(lines)-1], strings.Count(string(table), ",text,true,")
		answered := strings.Count(string(table), ",buy,201,") + strings.Count(string(table), ",buy,409,")
		if len(lines) != 203 || answered != 200 || good != succeeded || !strings.Contains(final, ",final,200,") ||
			strings.Contains(final, ",text,true,") != (succeeded == 202) {
			t.Errorf("%s: %d answers, %d samples succeeded, want %d; the last is\n%s\n%s", version, answered, good, succeeded, final, out)
		}
	}
}
