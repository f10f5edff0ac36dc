//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/testenv"
	"locklab/versions"
)

// The demo keeps the promises of the README: v1 and v2 lose views, every other version none, and each instance gets its share. In v2, each
// instance has a winner. "all" runs every version that can run here.
func TestDemo(t *testing.T) {
	for name, c := range map[string]struct {
		real      bool
		instances int
		args      []string
		versions  int
	}{
		"miniredis":                {false, 3, []string{"--embedded"}, len(versions.DefaultNames())},
		"redis-server":             {true, 2, []string{"--topology=single"}, len(versions.DefaultNames())},
		"a cluster, every version": {true, 2, []string{"--topology=cluster", "--versions=all"}, len(versions.Names())},
	} {
		t.Run(name, func(t *testing.T) {
			if c.real {
				testenv.Needs(t, testenv.RedisServer)
				t.Parallel()
			}
			const users = 198
			result, code := demo(t, append(c.args, "--users="+strconv.Itoa(users), "--instances="+strconv.Itoa(c.instances))...)
			if code != exitOK || result.Verdict != "as expected" {
				t.Errorf("exit %d, verdict %s: %s", code, result.Verdict, result.Reasons())
			}
			if want := map[bool]string{false: "miniredis", true: "redis-server"}[c.real]; result.Redis != want {
				t.Errorf("the demo reports %s but ran on %s", result.Redis, want)
			}
			if len(result.Pageview)+len(result.LeftOut) != c.versions || len(result.Instances) != c.instances {
				t.Fatalf("%d versions, want %d; left out is %q; %d instances", len(result.Pageview), c.versions, result.LeftOut, len(result.Instances))
			}
			for i, views := range result.Pageview {
				winners := result.Order[i].Winners
				switch views.Version {
				case "v1", "v2": // as many winners as drivers or instances, or fewer on a busy machine
					if views.Lost == 0 || winners < 2 || views.Version == "v2" && winners > c.instances {
						t.Errorf("%s lost %d and has %d winners", views.Version, views.Lost, winners)
					}
				default:
					if views.Final != users || winners != 1 {
						t.Errorf("%s ends at %d with %d winners", views.Version, views.Final, winners)
					}
				}
				for instance, n := range views.PerInstance {
					if n != users/c.instances {
						t.Errorf("%s: instance %s got %d of %d", views.Version, instance, n, users)
					}
				}
			}
		})
	}
}

// demo runs the demo as a process and reads its JSON. It repeats an inconclusive run: on a busy machine, a server may answer too late.
func demo(t *testing.T, flags ...string) (result burst.Results, code int) {
	t.Helper()
	for again := 0; again == 0 || again < 3 && code == exitInconclusive; again++ {
		result = burst.Results{}
		cmd := process(t, append([]string{"demo", "--json"}, flags...)...)
		var progress bytes.Buffer
		cmd.Stderr = &progress
		out, err := cmd.Output()
		if bad := json.Unmarshal(out, &result); bad != nil {
			t.Fatalf("%v, %v\n%s%s", err, bad, out, progress.String())
		}
		if code = cmd.ProcessState.ExitCode(); code == exitInconclusive {
			t.Log("inconclusive: ", result.Reasons())
		}
	}
	return result, code
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
	// A run that cannot be saved is still judged, and an unexpected verdict decides the exit code.
	for verdict, code := range map[lab.Verdict]int{
		lab.AsExpected: exitUnavailable, lab.Inconclusive: exitUnavailable, lab.Unexpected: exitUnexpected,
	} {
		run := lab.Result{NotSaved: "no space left on device"}
		run.Judgement = lab.Judgement{Experiment: "X", Verdict: verdict}
		ran := &lab.Results{Runs: []lab.Result{run}, Verdict: verdict}
		var out strings.Builder
		err := (&labRunCommand{Out: t.TempDir()}).finish(t.Context(), ran, streams{&out, &out})
		if e := (exitError{}); !errors.As(err, &e) || e.code != code || !strings.Contains(out.String(), "Verdict: ") ||
			!strings.Contains(err.Error(), "X is judged and not saved: no space left") {
			t.Errorf("%s: %v: %s", verdict, err, out.String())
		}
	}
}
