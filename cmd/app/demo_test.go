//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/testenv"
)

// The demo keeps the promises of the README, on both engines.
func TestDemo(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		result, code := demo(t, real, "--users=200", "--rounds=2")
		if code != exitOK || result.Verdict != "as expected" {
			t.Errorf("exit %d, verdict %s: %s", code, result.Verdict, result.Reasons())
		}
		if want := map[bool]string{false: "miniredis", true: "redis-server"}[real]; result.Redis != want {
			t.Errorf("the demo reports %s but ran on %s", result.Redis, want)
		}
		if len(result.Pageview) != 10 || len(result.Order) != 10 {
			t.Fatalf("%d and %d rows, want 10 each: five versions in two rounds", len(result.Pageview), len(result.Order))
		}
		for i, views := range result.Pageview {
			winners := result.Order[i].Winners
			switch views.Version {
			case "v1":
				if views.Lost == 0 || winners < 2 { // 20 winners, or fewer on a busy machine
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

// Each of three instances gets a third of the requests. v3 also holds for three instances, and v2 has a winner in each.
func TestDemoWithMoreInstances(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	var result burst.Results
	var code int
	for range 5 { // on a busy machine, an instance may read late and see another's write
		result, code = demo(t, false, "--users=200", "--instances=3", "--versions=v2,v3")
		if code != exitOK || result.Order[0].Winners >= 3 {
			break
		}
	}
	if code != exitOK || len(result.Instances) != 3 || result.Pageview[1].Final != 200 || result.Order[0].Winners != 3 {
		t.Errorf("exit %d: %s: %+v", code, result.Reasons(), result)
	}
	text := app(t.Context(), "demo", "--embedded", "--users=200", "--instances=3", "--versions=v3").out
	if !regexp.MustCompile(`  6[67] \+ 6[67] \+ 6[67]  `).MatchString(text) {
		t.Errorf("the parts of the instances are missing in: %s", text)
	}
	for flags, want := range map[string]string{
		"--instances=1": "from 2 to 32", "--instances=33 --drivers=40": "from 2 to 32",
		"--instances=12 --drivers=10": "--drivers (10)",
	} {
		wantSentence(t, app(t.Context(), append([]string{"demo"}, strings.Fields(flags)...)...), exitUsage, "--instances", want)
	}
}

func TestDemoOverEveryTopology(t *testing.T) {
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	for _, topology := range []string{"master-slave", "sentinel", "cluster"} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			if topology != "cluster" { // make test runs one topology
				testenv.Check(t, testenv.Whole)
			}
			result, code := demo(t, true, "--users=100", "--topology="+topology)
			if code != exitOK || result.Topology != topology {
				t.Errorf("exit %d on %s: %+v", code, result.Topology, result)
			}
		})
	}
}

// demo runs the demo as a process and reads its JSON. It repeats an inconclusive run: on a busy machine, a server may answer too late.
func demo(t *testing.T, real bool, flags ...string) (burst.Results, int) {
	t.Helper()
	for range 2 {
		result, code := demoOnce(t, real, flags...)
		if code != exitInconclusive {
			return result, code
		}
		t.Log("inconclusive: ", result.Reasons())
	}
	return demoOnce(t, real, flags...)
}

func demoOnce(t *testing.T, real bool, flags ...string) (burst.Results, int) {
	t.Helper()
	cmd := process(t, append([]string{"demo", "--json", fmt.Sprintf("--embedded=%v", !real)}, flags...)...)
	var progress bytes.Buffer
	cmd.Stderr = &progress
	out, err := cmd.Output()
	var result burst.Results
	if bad := json.Unmarshal(out, &result); bad != nil {
		t.Fatalf("%v, %v\n%s%s", err, bad, out, progress.String())
	}
	return result, cmd.ProcessState.ExitCode()
}

// The verdict decides the exit code, and the error has its reason.
func TestTheVerdictIsTheExitStatus(t *testing.T) {
	nowhere := streams{io.Discard, io.Discard}
	for verdict, code := range map[lab.Verdict]int{
		lab.AsExpected: 0, lab.Unexpected: 1, lab.Inconclusive: 2,
	} {
		ran := &lab.Results{Runs: make([]lab.Result, 1), Verdict: verdict}
		for what, err := range map[string]error{
			"a verdict":       verdictError(verdict, "why"),
			"demo, app burst": new(burstFlags).finish(&burst.Results{Verdict: verdict}, nowhere, "", func() {}),
			"lab run":         (&labRunCommand{Out: t.TempDir()}).finish(t.Context(), ran, nowhere),
		} {
			var end exitError
			errors.As(err, &end)
			if end.code != code || what == "a verdict" && err != nil && end.Error() != verdict.String()+": why" {
				t.Errorf("%s, %s: exit %d, want %d: %v", what, verdict, end.code, code, err)
			}
		}
	}
}

func TestDemoNeedsRealServersForTopologies(t *testing.T) {
	wantSentence(t, app(t.Context(), "demo", "--embedded", "--topology=cluster"), exitUsage, "--embedded", "--topology cluster")
	t.Setenv("PATH", t.TempDir())
	wantSentence(t, app(t.Context(), "demo", "--topology=cluster"), exitUnavailable, "--topology cluster", "redis-server", "apt-get install")
}
