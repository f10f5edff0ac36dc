//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/burst"
	"locklab/lab/testenv"
	"locklab/lab/testenv/composefiles"
)

// runBurst runs app burst. It repeats an inconclusive run, up to five times.
func runBurst(t *testing.T, args ...string) output {
	t.Helper()
	args = append([]string{"burst", "--users=40", "--drivers=4", "--admin-token=" + token}, args...)
	got := app(testenv.Context(t), args...)
	for again := 1; again < 5 && got.code == exitInconclusive; again++ {
		t.Log(got.err)
		got = app(testenv.Context(t), args...)
	}
	return got
}

func TestBurst(t *testing.T) {
	t.Parallel()
	url := pair(t).URL
	got := runBurst(t, "--versions=v0,v3", url+"/") // as copied from a browser
	wantText(t, got, exitOK, "40 simultaneous page views by app", "two instances behind "+url, "4 drivers grab one order", " 20 + 20 ",
		" 2 + 2 ", "v0 ", "v3 ", "  as predicted ✓\n", "Verdict: as predicted")
	if strings.Contains(got.out, "v1 ") || strings.ContainsRune(got.out, '\x1b') || strings.Contains(got.out+got.err, token) {
		t.Errorf("output has a version that was not requested, colours or the token:\n%s%s", got.out, got.err)
	}
	got = runBurst(t, "--json", "--rounds=2", "--versions=v0,v3", url)
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
	// It is inconclusive if fewer instances answer than --instances says. With --by-chance, some may get no request.
	got = app(testenv.Context(t), "burst", "--users=40", "--drivers=4", "--versions=v3", "--instances=3", "--admin-token="+token, url)
	if got.code != exitInconclusive || !strings.Contains(got.err, "part of 3") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	wantText(t, runBurst(t, "--versions=v3", "--instances=3", "--by-chance", url), exitOK, "3 instances behind "+url)
	wantSentence(t, app(t.Context(), "burst", "--versions=v4", url), exitUnavailable, "--versions", "v4 needs --redlock")
	for _, wrong := range []string{"", "wrong"} {
		got := app(t.Context(), "burst", "--users=40", "--versions=v3", "--admin-token="+wrong, url)
		if got.code != exitUsage || !strings.Contains(got.err, "401") || !strings.Contains(got.err, "--admin-token") || got.out != "" {
			t.Errorf("with the token %q: exit %d: %s%s", wrong, got.code, got.out, got.err)
		}
	}
}

// app burst asks the instances which versions they have.
func TestBurstOfAllVersions(t *testing.T) {
	t.Setenv("LAB_REQUIRE", "") // "all" would make a version that is left out an error
	wantText(t, runBurst(t, "--versions=all", pair(t).URL), exitOK, "v5 ",
		"v4 (RedLock) is left out: the instance has "+strings.Join(versionsWith("redis", "database"), ", ")+"; v4 needs --redlock")
}

// k6 and JMeter send what this program sends, and print the same table. What they print themselves is not shown. They send to the port of
// their own checkout, because several labs may share one machine.
func TestBurstByALoadTool(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	url := pair(t).URL
	port := url[strings.LastIndex(url, ":")+1:]
	for name, needs := range map[string]func(t *testing.T){
		"k6": func(t *testing.T) { testenv.Needs(t, testenv.K6) }, "JMeter": needsJMeter,
	} {
		t.Run(name, func(t *testing.T) {
			needs(t)
			var got output
			for again := 0; again == 0 || again < 5 && got.code == exitInconclusive; again++ {
				var stdout, stderr strings.Builder
				cmd := process(t, "burst", "--tool="+strings.ToLower(name), "--dir=../..", "--users=40")
				cmd.Env = append(os.Environ(), "NGINX_PORT="+port, "USERS=", "VERSION=v1,v3", "ADMIN_TOKEN="+token)
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				_ = cmd.Run()
				got = output{code: cmd.ProcessState.ExitCode(), out: strings.Join(strings.Fields(stdout.String()), " "), err: stderr.String()}
			}
			wantText(t, got, exitOK, "40 simultaneous page views by "+name+", two instances behind "+url+", Redis single ",
				" v1 none ", " v3 Redis lock 40 0 20 + 20 ", " v3 Redis lock 1 10 + 10 ")
			if strings.Contains(got.out+got.err, "Outcome: ") || strings.Contains(got.out+got.err, "summary") {
				t.Errorf("it shows what the tool prints:\n%s%s", got.out, got.err)
			}
		})
	}
}

// Without a URL, app burst sends to the lab of its checkout, with the settings of that. A flag has precedence over its variable LAB_…, that
// over USERS and VERSION of the shell, and these over .env.
func TestBurstReadsVariables(t *testing.T) {
	for _, name := range []string{"USERS", "VERSION", "LAB_USERS", "LAB_VERSIONS"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	url := pair(t).URL
	want := func(want string, args ...string) {
		t.Helper()
		got := app(testenv.Context(t), append([]string{"burst", "--drivers=2", "--json"}, args...)...)
		var result burst.Results
		if err := json.Unmarshal([]byte(got.out), &result); err != nil {
			t.Fatalf("exit %d: %v: %s", got.code, err, got.err)
		}
		var names []string
		for _, views := range result.Pageview {
			names = append(names, views.Version)
		}
		if sent := fmt.Sprint(result.Users, " ", strings.Join(names, ",")); sent != want {
			t.Errorf("it sends %s, want %s", sent, want)
		}
	}
	dir := copyLab(t)
	env := "USERS=60\nVERSION=v3\nADMIN_TOKEN=" + token + "\nNGINX_PORT=" + url[strings.LastIndex(url, ":")+1:] + "\n"
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(env), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	want("60 v3")
	t.Chdir(t.TempDir()) // as in a container
	t.Setenv("LAB_ADMIN_TOKEN", token)
	t.Setenv("USERS", "40")
	t.Setenv("VERSION", "v0, v3")
	want("40 v0,v3", url)
	want("20 v5", "--users=20", "--versions=v5", url)
	t.Chdir(dir)
	t.Setenv("LAB_USERS", "30")
	want("30 v0,v3")
}

// What app burst needs and does not find has exit code 69.
func TestBurstWithoutWhatItNeeds(t *testing.T) {
	wantSentence(t, app(t.Context(), "burst", "http://127.0.0.1:1"), exitUnavailable, "127.0.0.1:1", "refused", "app status")
	url := pair(t).URL
	t.Setenv("PATH", t.TempDir())
	got := app(testenv.Context(t), "burst", "--tool=k6", "--dir=../..", "--versions=v3", "--admin-token="+token, url)
	wantSentence(t, got, exitUnavailable, "k6 does not start", "loadtest/README.md")
	// What the tool printed is shown.
	if err := os.WriteFile(filepath.Join(os.Getenv("PATH"), "k6"), []byte("#!/bin/sh\necho what it printed\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	got = app(testenv.Context(t), "burst", "--tool=k6", "--dir=../..", "--versions=v3", "--admin-token="+token, url)
	if got.code != exitUnavailable || !strings.Contains(got.err, "what it printed\napp: v3, page views by k6: k6 wrote no file") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
}

// A load tool takes seconds for each version, so it leaves out v0, which is no version of the articles.
func TestDefaultVersionsOfABurst(t *testing.T) {
	t.Setenv("VERSION", "")
	for tool, want := range map[string]string{"app": "[v0 v1 v2 v3 v4]", "k6": "[v1 v2 v3 v4]", "jmeter": "[v1 v2 v3 v4]"} {
		c := burstCommand{checkout: checkout{t.TempDir()}, Tool: tool, burstFlags: burstFlags{Drivers: 2, Rounds: 1}}
		if _, plan, err := c.settings(t.Context()); err != nil || fmt.Sprint(plan.Versions) != want {
			t.Errorf("%s: %v, %v; want %s", tool, plan.Versions, err, want)
		}
	}
}

// copyLab copies what compose reads of this checkout.
func copyLab(t *testing.T) (dir string) {
	t.Helper()
	composefiles.Docker(t)
	dir = t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "docker-compose.yml"), []byte(page(t, "docker-compose.yml")), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Settings in a file that Compose does not read may hide the port of this lab. So nothing is sent without a URL.
func TestUnreadSettings(t *testing.T) {
	dir := copyLab(t)
	if err := os.WriteFile(filepath.Join(dir, ".env.local"), []byte("NGINX_PORT=15700\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	wantSentence(t, app(t.Context(), "burst"), exitUsage, "rename it to .env", "give the URL")
	wantSentence(t, app(t.Context(), "burst", "http://127.0.0.1:1"), exitUnavailable, "127.0.0.1:1", "refused")
	wantText(t, app(t.Context(), "doctor", only("files")), exitUnexpected, "rename it to .env")
}
