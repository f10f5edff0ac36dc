//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"locklab/experiments/burst"
	"locklab/internal/testenv"
	"locklab/stack"
)

// loaded starts two instances behind a balancer, for load scripts.
func loaded(t *testing.T) (balancer *url.URL, instances []*stack.Instance) {
	t.Helper()
	running := two(t, burst.Service{
		Real: stack.RealRedis(), Named: true, Think: 100 * time.Millisecond, Flags: []string{"--item-query=1s"}, // loads overlap
	})
	balancer, err := url.Parse(running.URL)
	if err != nil {
		t.Fatal(err)
	}
	return balancer, running.Instances
}

// standIn is an address at which paths under one prefix are served by others, in turn: what a script must find out about.
func standIn(t *testing.T, balancer *url.URL, asked string, served ...string) string {
	t.Helper()
	var n atomic.Int64
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		if path, ok := strings.CutPrefix(r.In.URL.Path, "/"+asked+"/"); ok {
			r.Out.URL.Path = "/" + served[int(n.Add(1))%len(served)] + "/" + path
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
	testenv.Slow(t)
	testenv.Needs(t, testenv.K6)
	balancer, _ := loaded(t)
	sale, hot := []string{"USERS=200", "PIECES=20"}, []string{"USERS=50"}
	for _, c := range []struct {
		name, script string
		env          []string
		served       string // instead of the version that env names, with spaces between several; empty: that one
		code         int
		says         string
	}{
		{"a sliding window", "ratelimit", []string{"ALGORITHM=r4", "DURATION=7s"}, "", 0, "r4: the supplier allows 5 calls in 5000 ms"},
		{"a counter in each instance", "ratelimit", []string{"ALGORITHM=r1", "DURATION=7s"}, "", 99, "r1: the supplier allows 5 calls"},
		{"a sale with a lock", "shop", append(sale, "VERSION=v3"), "", 0, "Outcome: nothing oversold\n"},
		{"a sale without a lock", "shop", append(sale, "VERSION=v1"), "", 0, "as expected without a common lock\n"},
		{"a sale with a lock that is none", "shop", append(sale, "VERSION=v3"), "v1", 99, "Outcome: OVERSOLD"},
		// Without v0: its one UPDATE for each buyer has sold everything before the first holder of a lock writes.
		{"a sale with a lock, and without it", "shop", append(sale, "VERSION=v4"), "v3 v1", 99, "2 versions sold this item"},
		{"a sale with a wrong stock", "shop", []string{"USERS=200", "PIECES=1000", "VERSION=v3"}, "v1", 99, "Outcome: STOCK WRONG: 200 pieces"},
		{"a hot item, one load", "cache", append(hot, "CACHE=c3"), "", 0, "reached the database  1 (at most 1)"},
		{"a hot item without protection", "cache", append(hot, "CACHE=c3"), "c0", 99, "thresholds on metrics 'lab_loads'"},
		{"an update that is seen", "cache", append(hot, "CACHE=c5"), "", 0, "older than the update    0\n"},
		{"an update that is not seen", "cache", append(hot, "CACHE=c5"), "c7", 99, "older than the update    50\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := balancer.String()
			if c.served != "" {
				_, asked, _ := strings.Cut(c.env[len(c.env)-1], "=")
				address = standIn(t, balancer, asked, strings.Fields(c.served)...)
			}
			runK6(t, c.code, c.says, c.script, append(c.env, "BASE_URL="+address)...)
		})
	}
}

// runK6 runs a script with variables. It must end with a code, and say something.
func runK6(t *testing.T, code int, says, script string, env ...string) {
	t.Helper()
	args := []string{"run", "--quiet", "--no-usage-report"}
	for _, variable := range env {
		args = append(args, "-e", variable)
	}
	run := exec.CommandContext(testenv.Context(t), "k6", append(args, "../../loadtest/k6/"+script+".js")...)
	out, _ := run.CombinedOutput()
	narrow := strings.Join(strings.Fields(string(out)), " ") // a column is as wide as its longest name
	if got := run.ProcessState.ExitCode(); got != code || !strings.Contains(string(out), says) && !strings.Contains(narrow, says) {
		t.Errorf("exit %d, want %d and %q: %s", got, code, says, out)
	}
}

// The scripts find out which instances there are, and count by their names. Instances that do not get equal parts of the requests, or that
// were not there before, make a run worth nothing.
func TestK6LearnsTheInstances(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.K6)
	balancer, instances := loaded(t)
	threeToOne := func(n int64, _ string) int { return int(n%4) / 3 }
	uneven := httptest.NewServer(routed(t, instances, threeToOne))
	late := httptest.NewServer(routed(t, instances, func(n int64, path string) int {
		if path == "/healthz" {
			return 0
		}
		return int(n % 2)
	}))
	t.Cleanup(uneven.Close)
	t.Cleanup(late.Close)
	for name, c := range map[string]struct {
		address, script, instances string
		users, code                int
		says                       string
	}{
		"views":                        {balancer.String(), "pview", "", 20, 0, "instance instance-2 10 answers"},
		"an odd number":                {balancer.String(), "pview", "", 7, 0, "Outcome: nothing lost"},
		"drivers":                      {balancer.String(), "order", "", 20, 0, "instance instance-1 10 answers"},
		"buyers":                       {balancer.String(), "shop", "", 20, 0, "instance instance-1 10 answers"},
		"one of them":                  {instances[0].URL, "pview", "", 5, 0, "instance instance-1 5 answers"},
		"they are named":               {balancer.String(), "pview", "instance-1,instance-2", 20, 0, "instance instance-2 10 answers"},
		"others are named":             {balancer.String(), "pview", "a,b", 20, 99, "20 answers are of instances other than a and b"},
		"an instance that comes later": {late.URL, "pview", "", 20, 99, "answers are of instances other than instance-1"},
		"unequal parts":                {uneven.URL, "pview", "", 20, 99, "did not get equal parts of the requests: 15 and 5"},
	} {
		t.Run(name, func(t *testing.T) {
			runK6(t, c.code, c.says, c.script,
				"BASE_URL="+c.address, "INSTANCES="+c.instances, fmt.Sprint("USERS=", c.users), "PIECES=10")
		})
	}
}

// routed sends each request to one of the instances. n counts the requests of a path.
func routed(t *testing.T, instances []*stack.Instance, to func(n int64, path string) int) http.Handler {
	t.Helper()
	var mu sync.Mutex
	counts := make(map[string]int64)
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		mu.Lock()
		defer mu.Unlock()
		n := counts[r.In.URL.Path]
		counts[r.In.URL.Path]++
		target, err := url.Parse(instances[to(n, r.In.URL.Path)].URL)
		if err != nil {
			t.Error(err)
		}
		r.SetURL(target)
	}}
}

// Every line of the pages that runs k6 works as pasted beside `app demo --keep`, with fewer users and less time.
func TestK6LinesOfThePages(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.K6)
	cmd := process(t, "demo", "--keep", "--users=2", "--drivers=2", "--think=1ms")
	addrs, _ := kept(t, cmd)
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	}()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]int{"k6 run -e ALGORITHM=r1 loadtest/k6/ratelimit.js": 99} // as its comment says
	adapt := strings.NewReplacer("loadtest/", root+"/loadtest/", "go run ./cmd/app", os.Args[0],
		"DURATION=2m", "DURATION=7s", "USERS=20", "USERS=10")
	ran := 0
	for _, name := range pasted {
		for _, line := range commandLines(page(t, name)) {
			if !strings.Contains(line, "k6 run") && !strings.Contains(line, "app k6") || strings.HasPrefix(line, "docker") {
				continue
			}
			ran++
			shell := exec.CommandContext(testenv.Context(t), "sh", "-c", adapt.Replace(line))
			shell.Dir = t.TempDir()
			shell.Env = append(os.Environ(), "BASE_URL="+addrs[0], "USERS=40", "DURATION=7s", "LAB_DIR="+root)
			if out, _ := shell.CombinedOutput(); shell.ProcessState.ExitCode() != ends[line] {
				t.Errorf("%s: %s\n  ends with %d, want %d: %s", name, line, shell.ProcessState.ExitCode(), ends[line], out)
			}
			delete(ends, line)
		}
	}
	if ran < 12 || len(ends) > 0 {
		t.Errorf("the pages have %d lines for k6, and not %v", ran, ends)
	}
}

const plans = "../../loadtest/jmeter/"

func needsJMeter(t *testing.T) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), plans+"jmeter", "--version", "-j", filepath.Join(t.TempDir(), "log")).Run(); err != nil {
		testenv.Skip(t, "JMeter is missing: run make jmeter")
	}
}

// The plan's last sample, from the database, holds for a version that sells what there is. It fails for one that oversells, and for one
// whose stock is wrong.
func TestJMeterJudgesTheSale(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	needsJMeter(t)
	balancer, _ := loaded(t)
	for _, c := range []struct {
		version, pieces string
		succeeded       int // the reset, 200 buyers, and the last one or not
	}{{"v3", "20", 202}, {"v1", "20", 201}, {"v1", "1000", 201}} {
		file := filepath.Join(t.TempDir(), "run.jtl")
		run := exec.CommandContext(testenv.Context(t), plans+"jmeter", "-n", "-f", "-t", plans+"shop.jmx", "-l", file, "-j", file+".log",
			"-Jhost="+balancer.Hostname(), "-Jport="+balancer.Port(), "-Jversion="+c.version, "-Jusers=200", "-Jpieces="+c.pieces)
		out, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", c.version, err, out)
		}
		table, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(table)), "\n")
		final, good := lines[len(lines)-1], strings.Count(string(table), ",text,true,")
		answered := strings.Count(string(table), ",buy,201,") + strings.Count(string(table), ",buy,409,")
		if len(lines) != 203 || answered != 200 || good != c.succeeded || !strings.Contains(final, ",final,200,") ||
			strings.Contains(final, ",text,true,") != (c.succeeded == 202) {
			t.Errorf("%+v: %d answers, %d samples succeeded; the last is\n%s\n%s", c, answered, good, final, out)
		}
	}
}
