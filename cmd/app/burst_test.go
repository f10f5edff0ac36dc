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

// pair is a balancer before two instances, which share a Redis and a database.
func pair(t *testing.T, flags ...string) (url string) {
	t.Helper()
	return two(t, burst.Service{Think: time.Millisecond, Flags: flags}).URL
}

// two starts two instances of a service behind a balancer.
func two(t *testing.T, service burst.Service) burst.Running {
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

// fire runs app burst until something is shown, as that asks for: five times at most.
func fire(t *testing.T, args ...string) output {
	t.Helper()
	return fireAt(t, "v0,v3", args...)
}

// fireAt does that at the versions.
func fireAt(t *testing.T, versions string, args ...string) output {
	t.Helper()
	args = append([]string{"burst", "--users=40", "--drivers=4", "--versions=" + versions}, args...)
	got := app(testenv.Context(t), args...)
	for again := 1; again < 5 && got.code == exitInconclusive; again++ {
		t.Log(got.err)
		got = app(testenv.Context(t), args...)
	}
	return got
}

func TestBurstIsSentToWhatRunsAndJudged(t *testing.T) {
	t.Parallel()
	url := pair(t)
	got := fire(t, url)
	if got.code != exitOK {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
	for _, want := range []string{
		"40 simultaneous page views, two instances behind " + url + ", Redis single\n", "4 drivers grab one order", "20 + 20", "2 + 2",
		"v0 ", "v3 ", "Verdict: as expected", "\nNext: ",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in:\n%s", want, got.out)
		}
	}
	if strings.Contains(got.out, "v1 ") || strings.Contains(got.out, "miniredis") || strings.ContainsRune(got.out, '\x1b') {
		t.Errorf("it shows what it was not asked for or cannot know, or colours:\n%s", got.out)
	}
	got = fire(t, "--json", "--rounds=2", url)
	var says burst.Results
	if err := json.Unmarshal([]byte(got.out), &says); err != nil || got.code != exitOK {
		t.Fatalf("exit %d: %v: %s%s", got.code, err, got.out, got.err)
	}
	if says.URL != url || says.Topology != "single" || says.Users != 40 || len(says.Pageview) != 4 || len(says.Order) != 4 ||
		says.Verdict != "as expected" {
		t.Errorf("%+v", says)
	}
	for i, row := range says.Pageview {
		if row.Final != 40 || row.Lost != 0 || says.Order[i].Winners != 1 {
			t.Errorf("%+v, %+v", row, says.Order[i])
		}
	}
}

// A burst on fewer instances than were named shows nothing of so many. Of a balancer that chooses by chance, some may have got no request.
func TestBurstCountsTheInstances(t *testing.T) {
	url := pair(t)
	got := app(testenv.Context(t), "burst", "--users=40", "--drivers=4", "--versions=v3", "--instances=3", url)
	if got.code != exitInconclusive || !strings.Contains(got.err, "part of 3") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	got = fireAt(t, "v3", "--instances=3", "--by-chance", url)
	if got.code != exitOK || !strings.Contains(got.out, "3 instances behind "+url) {
		t.Errorf("by chance: exit %d: %s%s", got.code, got.out, got.err)
	}
}

func TestBurstResetsWithTheAdminToken(t *testing.T) {
	url := pair(t, "--admin-token=hush")
	for name, token := range map[string]string{"none": "", "a wrong one": "--admin-token=wrong"} {
		got := fire(t, strings.Fields(token+" "+url)...)
		if got.code != exitUsage || !strings.Contains(got.err, "401") || !strings.Contains(got.err, "--admin-token") || got.out != "" {
			t.Errorf("%s: exit %d: %s%s", name, got.code, got.out, got.err)
		}
	}
	if got := fire(t, "--admin-token=hush", url); got.code != exitOK || strings.Contains(got.out+got.err, "hush") {
		t.Errorf("exit %d, or it shows the token: %s%s", got.code, got.out, got.err)
	}
	t.Setenv("LAB_ADMIN_TOKEN", "hush")
	if got := fire(t, url); got.code != exitOK {
		t.Errorf("from the variable: exit %d: %s", got.code, got.err)
	}
	os.Unsetenv("LAB_ADMIN_TOKEN")
	testenv.WithoutShell(t, composeDir)
	t.Chdir(composeDir)
	t.Setenv("NGINX_PORT", url[strings.LastIndex(url, ":")+1:])
	t.Setenv("ADMIN_TOKEN", "hush")
	if got := fire(t); got.code != exitOK {
		t.Errorf("the lab of the checkout: exit %d: %s", got.code, got.err)
	}
}

func TestBurstTakesTheAddressOfABalancerAndNoMore(t *testing.T) {
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
	if got := fire(t, pair(t)+"/"); got.code != exitOK { // as a browser's line has it
		t.Errorf("with a slash: exit %d: %s", got.code, got.err)
	}
}

func TestBurstOfTooManyIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	for flag, word := range map[string]string{
		"--instances=1": "from 2", "--instances=21": "one of both",
		"--users=7": "even", "--drivers=0": "from 2", "--versions=v99": "v99", "--rounds=0": "from 1",
	} {
		wantSentence(t, app(t.Context(), "burst", flag, "http://127.0.0.1:1"), exitUsage, word)
	}
}

func TestBurstOnNobodySaysWhoKnowsMore(t *testing.T) {
	wantSentence(t, app(t.Context(), "burst", "http://127.0.0.1:1"), 69, "127.0.0.1:1", "refused", "app status")
}
