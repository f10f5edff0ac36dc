//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/internal/testenv"
	"locklab/versions"
)

// The main job, over both engines: what the README promises.
func TestDemo(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		result, code := demo(t, real, "--users=200", "--rounds=2")
		if code != exitOK || result.Verdict != "as expected" {
			t.Errorf("exit %d, verdict %s: %s", code, result.Verdict, result.reasons(result.Verdict))
		}
		if len(result.Pageview) != 10 || len(result.Order) != 10 {
			t.Fatalf("%d and %d rows, want five versions in two rounds", len(result.Pageview), len(result.Order))
		}
		for i, views := range result.Pageview {
			winners := result.Order[i].Winners
			switch views.Version {
			case "v1":
				if views.Lost == 0 || winners < 2 { // all 20, unless the machine is so busy that some come late
					t.Errorf("v1 lost %d and has %d winners", views.Lost, winners)
				}
			case "v2":
				if views.Lost == 0 || winners != 2 {
					t.Errorf("v2 lost %d and has %d winners", views.Lost, winners)
				}
			default:
				if views.Final != 200 || winners != 1 {
					t.Errorf("%s ends at %d with %d winners", views.Version, views.Final, winners)
				}
			}
			for instance, n := range views.PerInstance {
				if n != 100 {
					t.Errorf("%s: instance %s got %d of 200", views.Version, instance, n)
				}
			}
		}
	})
}

func TestDemoOverEveryTopology(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	for _, topology := range []string{"master-slave", "sentinel", "cluster"} {
		t.Run(topology, func(t *testing.T) {
			result, code := demo(t, true, "--users=100", "--topology="+topology)
			if code != exitOK || result.Topology != topology {
				t.Errorf("exit %d over %s: %+v", code, result.Topology, result)
			}
		})
	}
}

// demo runs the demo as a process and reads its JSON. An inconclusive run is run again, as it asks
// for: on a machine that is busy with other tests, a server may answer too late.
func demo(t *testing.T, real bool, flags ...string) (burstsResult, int) {
	t.Helper()
	for range 2 {
		result, code := demoOnce(t, real, flags...)
		if code != exitInconclusive {
			return result, code
		}
		t.Log("inconclusive: ", result.reasons(experiments.Verdict("inconclusive")))
	}
	return demoOnce(t, real, flags...)
}

func demoOnce(t *testing.T, real bool, flags ...string) (burstsResult, int) {
	t.Helper()
	cmd := process(t, append([]string{"demo", "--json", fmt.Sprintf("--embedded=%v", !real)}, flags...)...)
	var progress bytes.Buffer
	cmd.Stderr = &progress
	out, err := cmd.Output()
	var result burstsResult
	if bad := json.Unmarshal(out, &result); bad != nil {
		t.Fatalf("%v, %v\n%s%s", err, bad, out, progress.String())
	}
	return result, cmd.ProcessState.ExitCode()
}

func TestDemoPrintsTablesWithoutColourInAPipe(t *testing.T) {
	got := app(t.Context(), "demo", "--embedded", "--users=20", "--versions=v0,v3", "--think=1ms")
	if got.code != exitOK {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
	for _, want := range []string{"v0 ", "v3 ", "Redis lock", "20 page views at once", "20 drivers grab one order", "10 + 10", "Verdict: as expected", "miniredis"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in:\n%s", want, got.out)
		}
	}
	if strings.ContainsRune(got.out+got.err, '\x1b') {
		t.Error("there are escape sequences where no terminal is")
	}
	if strings.Contains(got.out, "v1 ") {
		t.Error("a version that was not asked for is shown")
	}
}

// A lost update in v3 must end the demo with 1, and no loss in v1 with 2.
func TestDemoIsJudged(t *testing.T) {
	views := func(version string, final int64) burst.Views {
		b := burst.Views{Version: version, Users: 2, Final: final}
		b.Writes = []burst.Write{{Instance: "a", Value: 1}, {Instance: "b", Value: 2}}
		return b
	}
	grabs := func(version string, winners ...uint64) burst.Grabs {
		b := burst.Grabs{Version: version, Drivers: 2, Recorded: winners}
		for driver := uint64(1); driver <= 2; driver++ {
			won := len(winners) >= int(driver)
			b.Answers = append(b.Answers, burst.Grab{Instance: string('a' + rune(driver) - 1), Driver: driver, Won: won})
		}
		return b
	}
	for _, c := range []struct {
		name   string
		expect experiments.Expect
		views  burst.Views
		grabs  burst.Grabs
		code   int
		says   string
	}{
		{"v3 holds", experiments.Never, views("v3", 2), grabs("v3", 1), exitOK, ""},
		{"v3 loses a view", experiments.Never, views("v3", 1), grabs("v3", 1), exitRefuted, "v3 page views, round 1: final 1 of 2, lost 1"},
		{"v3 has two winners", experiments.Never, views("v3", 2), grabs("v3", 1, 2), exitRefuted, "v3 order, round 1: 2 winners"},
		{"v1 loses", experiments.Sometimes, views("v1", 1), grabs("v1", 1, 2), exitOK, ""},
		{"v1 loses nothing", experiments.Sometimes, views("v1", 2), grabs("v1", 1, 2), exitInconclusive, "run it again"},
		{"v1 has one winner", experiments.Sometimes, views("v1", 1), grabs("v1", 1), exitInconclusive, "run it again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			result := &burstsResult{Users: 2, Drivers: 2}
			result.add(1, versions.Version{Loses: c.expect == experiments.Sometimes}, c.views, c.grabs)
			result.judge()
			code, text := exitOK, ""
			if end := (exitError{}); errors.As(result.exit(), &end) {
				code, text = end.code, end.Error()
			}
			if code != c.code || !strings.Contains(text, c.says) {
				t.Errorf("exit %d, %q; want %d, %q", code, text, c.code, c.says)
			}
		})
	}
}

// A request that was refused as a stale holder's is shown, and is no reason to doubt the rest.
func TestDemoShowsStaleHolders(t *testing.T) {
	views := burst.Views{Version: "v3", Users: 2, Final: 1, Writes: []burst.Write{{Instance: "a", Value: 1}}, Stale: []string{"b"}}
	grabs := burst.Grabs{Version: "v3", Drivers: 4, Recorded: []uint64{1}, Stale: []string{"b", "b"}}
	grabs.Answers = []burst.Grab{{Instance: "a", Driver: 1, Won: true}, {Instance: "a", Driver: 2, Winner: 1}}
	result := &burstsResult{Users: 2, Drivers: 4}
	result.add(1, versions.Version{Name: "v3"}, views, grabs)
	result.judge()
	if end := result.exit(); end != nil || result.Pageview[0].Stale != 1 || result.Order[0].Stale != 2 {
		t.Errorf("%v: %+v", end, result)
	}
	if text := result.text(false); !strings.Contains(text, "v3: 1 page views and 2 drivers were refused") {
		t.Errorf("printed: %s", text)
	}
}

func TestDemoNeedsRealServersForTopologies(t *testing.T) {
	wantSentence(t, app(t.Context(), "demo", "--embedded", "--topology=cluster"), exitUsage, "--embedded", "--topology cluster")
	t.Setenv("PATH", t.TempDir())
	wantSentence(t, app(t.Context(), "demo", "--topology=cluster"), exitUnavailable, "--topology cluster", "redis-server", "apt-get install")
}
