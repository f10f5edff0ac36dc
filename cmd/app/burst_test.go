//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"locklab/experiments/burst"
	"locklab/internal/testenv"
)

// startPair starts two instances that share a Redis and a database, and returns the URL of their balancer.
func startPair(t *testing.T, flags ...string) (url string) {
	t.Helper()
	return startTwo(t, burst.Service{Think: time.Millisecond, Flags: flags}).URL
}

// startTwo starts two instances of a service behind a balancer.
func startTwo(t *testing.T, service burst.Service) burst.Running {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	service.App, service.Topology, service.Instances, service.Listen = []string{self, "serve"}, "single", 2, "127.0.0.1:0"
	running, err := service.Start(testenv.Context(t), testenv.Stack(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return running
}

// runBurst runs app burst on v0 and v3.
func runBurst(t *testing.T, args ...string) output {
	t.Helper()
	return runBurstOn(t, "v0,v3", args...)
}

// runBurstOn runs app burst. It repeats an inconclusive run, up to five times.
func runBurstOn(t *testing.T, versions string, args ...string) output {
	t.Helper()
	args = append([]string{"burst", "--users=40", "--drivers=4", "--versions=" + versions}, args...)
	got := app(testenv.Context(t), args...)
	for again := 1; again < 5 && got.code == exitInconclusive; again++ {
		t.Log(got.err)
		got = app(testenv.Context(t), args...)
	}
	return got
}

func TestBurst(t *testing.T) {
	t.Parallel()
	url := startPair(t)
	got := runBurst(t, url)
	if got.code != exitOK {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
	for _, want := range []string{
		"40 simultaneous page views (20 + 20), two instances behind " + url + ", Redis single\n", "4 drivers grab one order", "(2 + 2)",
		"v0 ", "v3 ", "none lost, as predicted", "one winner, as predicted", "Verdict: as predicted", "\nNext: ",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in:\n%s", want, got.out)
		}
	}
	if strings.Contains(got.out, "v1 ") || strings.Contains(got.out, "miniredis") || strings.ContainsRune(got.out, '\x1b') {
		t.Errorf("output has a version that was not requested, the engine, or colours:\n%s", got.out)
	}
	got = runBurst(t, "--json", "--rounds=2", url)
	var result burst.Results
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != exitOK {
		t.Fatalf("exit %d: %v: %s%s", got.code, err, got.out, got.err)
	}
	if result.URL != url || result.Topology != "single" || result.Users != 40 || len(result.Pageview) != 4 || len(result.Order) != 4 ||
		result.Verdict != "as expected" {
		t.Errorf("%+v", result)
	}
	for i, row := range result.Pageview {
		if row.Final != 40 || row.Lost != 0 || result.Order[i].Winners != 1 {
			t.Errorf("%+v, %+v", row, result.Order[i])
		}
	}
}

// A burst is inconclusive if fewer instances answer than --instances says. With --by-chance, some may get no request.
func TestBurstCountsTheInstances(t *testing.T) {
	url := startPair(t)
	got := app(testenv.Context(t), "burst", "--users=40", "--drivers=4", "--versions=v3", "--instances=3", url)
	if got.code != exitInconclusive || !strings.Contains(got.err, "part of 3") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	got = runBurstOn(t, "v3", "--instances=3", "--by-chance", url)
	if got.code != exitOK || !strings.Contains(got.out, "3 instances behind "+url) {
		t.Errorf("by chance: exit %d: %s%s", got.code, got.out, got.err)
	}
}

func TestBurstResetsWithTheAdminToken(t *testing.T) {
	url := startPair(t, "--admin-token=hush")
	for name, token := range map[string]string{"none": "", "a wrong one": "--admin-token=wrong"} {
		got := runBurst(t, strings.Fields(token+" "+url)...)
		if got.code != exitUsage || !strings.Contains(got.err, "401") || !strings.Contains(got.err, "--admin-token") || got.out != "" {
			t.Errorf("%s: exit %d: %s%s", name, got.code, got.out, got.err)
		}
	}
	if got := runBurst(t, "--admin-token=hush", url); got.code != exitOK || strings.Contains(got.out+got.err, "hush") {
		t.Errorf("exit %d, or the output has the token: %s%s", got.code, got.out, got.err)
	}
	t.Setenv("LAB_ADMIN_TOKEN", "hush")
	if got := runBurst(t, url); got.code != exitOK {
		t.Errorf("from the variable: exit %d: %s", got.code, got.err)
	}
	os.Unsetenv("LAB_ADMIN_TOKEN")
	testenv.WithoutShell(t, composeDir)
	t.Chdir(composeDir)
	t.Setenv("NGINX_PORT", url[strings.LastIndex(url, ":")+1:])
	t.Setenv("ADMIN_TOKEN", "hush")
	if got := runBurst(t); got.code != exitOK {
		t.Errorf("the lab of the checkout: exit %d: %s", got.code, got.err)
	}
}

func TestBurstRejectsOtherURLs(t *testing.T) {
	for _, url := range []string{
		"https://127.0.0.1:1", "127.0.0.1:1", "localhost:1", "http://127.0.0.1", "http://", "ftp://127.0.0.1:1", "http://127.0.0.1:port",
		"http://127.0.0.1:99999",
		"http://127.0.0.1:1/v3", "http://127.0.0.1:1/v3/", "http://127.0.0.1:1?users=3", "http://127.0.0.1:1/?users=3",
		"http://127.0.0.1:1#top", "http://me:hush@127.0.0.1:1", "%",
	} {
		got := app(t.Context(), "burst", url)
		if got.code != exitUsage || !strings.Contains(got.err, fmt.Sprintf("%q", url)) || !strings.Contains(got.err, "http://host:port") {
			t.Errorf("%s: exit %d: %s", url, got.code, got.err)
		}
	}
	if got := runBurst(t, startPair(t)+"/"); got.code != exitOK { // as copied from a browser
		t.Errorf("with a slash: exit %d: %s", got.code, got.err)
	}
}

func TestBurstRejectsWrongSizes(t *testing.T) {
	for flag, word := range map[string]string{
		"--instances=1": "from 2", "--instances=21": "--drivers (20)",
		"--users=7": "even", "--drivers=0": "from 2", "--versions=v99": "v99", "--rounds=0": "from 1",
	} {
		wantSentence(t, app(t.Context(), "burst", flag, "http://127.0.0.1:1"), exitUsage, word)
	}
}

func TestBurstWithoutInstances(t *testing.T) {
	wantSentence(t, app(t.Context(), "burst", "http://127.0.0.1:1"), 69, "127.0.0.1:1", "refused", "app status")
}
