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
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// sharedBalancer returns the pair, and the address of its balancer.
func sharedBalancer(t *testing.T) (*url.URL, []*servers.Instance) {
	t.Helper()
	running := pair(t)
	balancer, err := url.Parse(running.URL)
	if err != nil {
		t.Fatal(err)
	}
	return balancer, running.Instances
}

// rewritePaths starts a proxy that serves the paths of one version by other versions, in turn, and returns its URL. A script must notice
// that.
func rewritePaths(t *testing.T, balancer *url.URL, version string, served ...string) string {
	t.Helper()
	var n atomic.Int64
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		if path, ok := strings.CutPrefix(r.In.URL.Path, "/"+version+"/"); ok {
			r.Out.URL.Path = "/" + served[int(n.Add(1))%len(served)] + "/" + path
		}
		r.SetURL(balancer)
	}}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// The thresholds of a k6 script pass for a version that keeps its promise and fail for one that does not. To fail a version that must lose
// nothing, another version serves its paths.
func TestK6Judges(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.K6)
	balancer, _ := sharedBalancer(t)
	sale, hot := []string{"USERS=200", "PIECES=20"}, []string{"USERS=50"}
	for _, c := range []struct {
		name, script string
		env          []string
		served       string // versions that serve the paths of the last variable's version, or empty
		code         int
		want         string
	}{
		{"a sliding window", "ratelimit", []string{"ALGORITHM=r4", "DURATION=7s"}, "", 0, "r4: the supplier allows 5 calls in 5000 ms"},
		{"a counter in each instance", "ratelimit", []string{"ALGORITHM=r1", "DURATION=7s"}, "", 99, "r1: the supplier allows 5 calls"},
		{"a sale with a lock", "shop", append(sale, "VERSION=v3"), "", 0, "Outcome: nothing oversold\n"},
		{"a sale with a lock that is none", "shop", append(sale, "VERSION=v3"), "v1", 99, "Outcome: OVERSOLD"},
		{"a sale with a wrong stock", "shop", []string{"USERS=200", "PIECES=1000", "VERSION=v3"}, "v1", 99, "Outcome: STOCK WRONG: 200 pieces"},
		{"a hot item, one load", "cache", append(hot, "CACHE=c3"), "", 0, "reached the database  1 (at most 1)"},
		{"a hot item without protection", "cache", append(hot, "CACHE=c3"), "c0", 99, "thresholds on metrics 'lab_loads'"},
		{"an update that is not seen", "cache", append(hot, "CACHE=c5"), "c7", 99, "older than the update    50\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := balancer.String()
			if c.served != "" {
				_, version, _ := strings.Cut(c.env[len(c.env)-1], "=")
				address = rewritePaths(t, balancer, version, strings.Fields(c.served)...)
			}
			runK6(t, c.code, c.want, c.script, append(c.env, "BASE_URL="+address)...)
		})
	}
}

// runK6 runs a script with variables, and checks its exit code and output. It returns the output with single spaces.
func runK6(t *testing.T, code int, want, script string, env ...string) (narrow string) {
	t.Helper()
	args := []string{"run", "--quiet", "--no-usage-report", "-e", "ADMIN_TOKEN=" + token}
	for _, variable := range env {
		args = append(args, "-e", variable)
	}
	run := exec.CommandContext(testenv.Context(t), "k6", append(args, "../../loadtest/k6/"+script+".js")...)
	out, _ := run.CombinedOutput()
	narrow = strings.Join(strings.Fields(string(out)), " ") // the width of columns varies
	if got := run.ProcessState.ExitCode(); got != code || !strings.Contains(string(out), want) && !strings.Contains(narrow, want) {
		t.Errorf("exit %d, want %d and %q: %s", got, code, want, out)
	}
	return narrow
}

// The scripts ask which instances there are and count the responses of each. A run fails if the instances do not get equal shares, or if
// another instance answers.
func TestK6CountsTheInstances(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.K6)
	balancer, instances := sharedBalancer(t)
	threeToOne := func(n int64, _ string) int { return int(n%4) / 3 }
	uneven := httptest.NewServer(routeRequests(t, instances, threeToOne))
	late := httptest.NewServer(routeRequests(t, instances, func(n int64, path string) int {
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
		want                       string
	}{
		"drivers":                      {balancer.String(), "order", "", 20, 0, "instance instance-1 10 answers"},
		"one of them":                  {instances[0].URL, "pview", "", 5, 0, "instance instance-1 5 answers"},
		"they are named":               {balancer.String(), "pview", "instance-1,instance-2", 20, 0, "instance instance-2 10 answers"},
		"others are named":             {balancer.String(), "pview", "a,b", 20, 99, "20 answers are of instances other than a and b"},
		"an instance that comes later": {late.URL, "pview", "", 20, 99, "answers are of instances other than instance-1"},
		"unequal parts":                {uneven.URL, "pview", "", 20, 99, "did not get equal parts of the requests: 15 and 5"},
	} {
		t.Run(name, func(t *testing.T) {
			runK6(t, c.code, c.want, c.script,
				"BASE_URL="+c.address, "INSTANCES="+c.instances, fmt.Sprint("USERS=", c.users), "PIECES=10")
		})
	}
}

// A sustained load ends well when the version keeps every confirmed view, and with 99 when it loses one or the run shows nothing.
func TestK6SustainsALoad(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.K6)
	balancer, _ := sharedBalancer(t)
	another := answerViews(t, balancer, func(view int64) int {
		if view == 0 {
			return countTwice
		}
		return http.StatusOK
	})
	for _, c := range []struct {
		name, address, version, rate string
		code                         int
		want                         string
	}{
		{"a lock", balancer.String(), "v3", "50", 0, "Outcome: nothing lost: the counter shows"},
		{"a lock that is none", rewritePaths(t, balancer, "v3", "v1"), "v3", "500", 99, "Outcome: LOST"},
		{"no version", rewritePaths(t, balancer, "v3", "v"), "v3", "50", 99, "Outcome: inconclusive: none of"},
		{"somebody else counts", another, "v3", "50", 99, "did somebody else count?"},
		{"a wrong rate", balancer.String(), "v3", "0", 107, "it must be a whole number from 1 to 1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			runK6(t, c.code, c.want, "pview", "BASE_URL="+c.address, "VERSION="+c.version, "RATE="+c.rate, "DURATION=2s")
		})
	}
}

// A view that is refused or has no answer makes a burst fail, and a sustained load not. Both count them apart.
func TestK6CountsRefusedViews(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.K6)
	balancer, _ := sharedBalancer(t)
	outage := func() string {
		return answerViews(t, balancer, func(view int64) int {
			if view < 10 || view >= 110 {
				return http.StatusOK
			}
			return []int{http.StatusServiceUnavailable, http.StatusServiceUnavailable, http.StatusBadGateway, countOnly}[view%4]
		})
	}
	burst := runK6(t, 99, "75 were refused (502: 25, 503: 50) and 25 have no answer", "pview", "BASE_URL="+outage(), "USERS=120")
	sustained := runK6(t, 0, "25 of the 100 others counted as well", "pview", "BASE_URL="+outage(), "RATE=50", "DURATION=3s")
	for _, out := range []string{burst, sustained} {
		if !strings.Contains(out, " error answers 75 (502: 25, 503: 50) ") || !strings.Contains(out, " without an answer 25 ") {
			t.Error(out)
		}
	}
	if strings.Contains(sustained, "less than 1 s") { // 100 views at 50 per second
		t.Error(sustained)
	}
}

// How answerViews treats a view, if not with a status.
const (
	countOnly  = 0 // and give no answer
	countTwice = 2
)

// answerViews starts a proxy that answers each view with a status of its own. It passes on those with 200, and every other request.
func answerViews(t *testing.T, balancer *url.URL, how func(view int64) int) string {
	t.Helper()
	var n atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(balancer)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		if r.Method == http.MethodPost {
			status = how(n.Add(1) - 1)
		}
		switch status {
		case http.StatusOK:
			proxy.ServeHTTP(w, r)
		case countTwice:
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			proxy.ServeHTTP(w, r)
		case countOnly:
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			w.WriteHeader(status)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// routeRequests sends each request to the instance that to returns. n is the number of earlier requests for the same path.
func routeRequests(t *testing.T, instances []*servers.Instance, to func(n int64, path string) int) http.Handler {
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

// Every command of the pages that runs k6 works when pasted next to `app demo --keep`. The test uses fewer users and less time.
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
		"DURATION=2m", "DURATION=7s", "DURATION=30s", "DURATION=3s", "USERS=20", "USERS=10")
	ran := 0
	for _, name := range pasted {
		for _, line := range commandLines(page(t, name)) {
			if !strings.Contains(line, "k6 run") || strings.HasPrefix(line, "docker") {
				continue
			}
			ran++
			shell := exec.CommandContext(testenv.Context(t), "sh", "-c", adapt.Replace(line))
			shell.Dir = t.TempDir()
			shell.Env = append(os.Environ(), "BASE_URL="+addrs[0], "USERS=40", "LAB_DIR="+root)
			if strings.Contains(line, "ratelimit.js") {
				shell.Env = append(shell.Env, "DURATION=7s")
			}
			if out, _ := shell.CombinedOutput(); shell.ProcessState.ExitCode() != ends[line] {
				t.Errorf("%s: %s\n  exit %d, want %d: %s", name, line, shell.ProcessState.ExitCode(), ends[line], out)
			}
			delete(ends, line)
		}
	}
	if ran < 12 || len(ends) > 0 {
		t.Errorf("the pages have only %d k6 commands, or lack %v", ran, ends)
	}
}

const plans = "../../loadtest/jmeter/"

func needsJMeter(t *testing.T) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), plans+"jmeter", "--version", "-j", filepath.Join(t.TempDir(), "log")).Run(); err != nil {
		testenv.Skip(t, "JMeter is missing: run make jmeter")
	}
}

// The last sample of the plan reads the database. It passes for a version that sells what is in stock, and fails for one that oversells or
// whose stock is wrong.
func TestJMeterJudgesTheSale(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	needsJMeter(t)
	balancer, _ := sharedBalancer(t)
	for _, c := range []struct {
		version, pieces string
		succeeded       int // samples: the reset, 200 buyers, and the last one if it passes
	}{{"v3", "20", 202}, {"v1", "20", 201}} {
		file := filepath.Join(t.TempDir(), "run.jtl")
		run := exec.CommandContext(testenv.Context(t), plans+"jmeter", "-n", "-f", "-t", plans+"shop.jmx", "-l", file, "-j", file+".log",
			"-Jhost="+balancer.Hostname(), "-Jport="+balancer.Port(), "-Jtoken="+token, "-Jversion="+c.version, "-Jusers=200", "-Jpieces="+c.pieces)
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
			t.Errorf("%+v: %d responses, %d samples succeeded; the last one is\n%s\n%s", c, answered, good, final, out)
		}
	}
}

// The last sample of a sustained load has its outcome, and fails when the plan has lost a view or shows nothing.
func TestJMeterSustainsALoad(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	needsJMeter(t)
	balancer, _ := sharedBalancer(t)
	outage := answerViews(t, balancer, func(view int64) int {
		return []int{http.StatusOK, http.StatusOK, http.StatusServiceUnavailable, countOnly}[view%4]
	})
	const wrong = `,settings,200,"-Jrate is ""0""; it must be a whole number from 1 to 1000",.*,text,false,`
	for _, c := range []struct{ name, address, rate, version, last string }{
		{"a lock", balancer.String(), "50", "v3", `,final,200,nothing lost: the counter shows \d+ after \d+ confirmed views,.*,text,true,`},
		{"an outage", outage, "50", "v3", `,final,200,nothing lost: .* confirmed views; \d+ of the \d+ others counted as well,.*,text,true,`},
		{"a wrong rate", balancer.String(), "0", "v3", wrong},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.jtl")
			_, port, _ := strings.Cut(strings.TrimPrefix(c.address, "http://"), ":")
			run := exec.CommandContext(testenv.Context(t), plans+"jmeter", "-n", "-f", "-t", plans+"sustained.jmx", "-l", file, "-j", file+".log",
				"-Jport="+port, "-Jtoken="+token, "-Jversion="+c.version, "-Jusers=20", "-Jrate="+c.rate, "-Jduration=1")
			out, err := run.CombinedOutput()
			table, _ := os.ReadFile(file)
			lines := strings.Split(strings.TrimSpace(string(table)), "\n")
			if last := lines[len(lines)-1]; err != nil || !regexp.MustCompile(c.last).MatchString(last) {
				t.Errorf("%v: the last sample is %s\n%s", err, last, out)
			}
		})
	}
}
