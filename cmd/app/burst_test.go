//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/lab/burst"
	"locklab/lab/testenv"
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
		"40 simultaneous page views by app", ") behind " + url + ", Redis single\n", "4 drivers grab one order", " 20 + 20 ", " 2 + 2 ",
		"v0 ", "v3 ", "  as predicted ✓\n", "Verdict: as predicted",
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
	t.Chdir(t.TempDir())
	for flag, word := range map[string]string{
		"--instances=1": "from 2", "--instances=21": "--drivers (20)",
		"--users=7": "even", "--drivers=0": "from 2", "--versions=v99": "v99", "--rounds=0": "from 1",
	} {
		wantSentence(t, app(t.Context(), "burst", flag, "http://127.0.0.1:1"), exitUsage, word)
	}
	t.Setenv("USERS", "many")
	wantSentence(t, app(t.Context(), "burst", "http://127.0.0.1:1"), exitUsage, `USERS is "many"; it must be a number`)
	t.Setenv("USERS", "7")
	t.Setenv("VERSION", "v99")
	wantSentence(t, app(t.Context(), "burst", "--users=8", "http://127.0.0.1:1"), exitUsage, "v99")
}

func TestBurstWithoutInstances(t *testing.T) {
	wantSentence(t, app(t.Context(), "burst", "http://127.0.0.1:1"), 69, "127.0.0.1:1", "refused", "app status")
}

// k6 and JMeter send what this program sends, and print the same table. What they print themselves is not shown. They send to the port of
// their own checkout, because several labs may share one machine.
func TestBurstByALoadTool(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	balancer, _ := startInstances(t)
	for tool, needs := range map[string]func(t *testing.T){
		"k6": func(t *testing.T) { testenv.Needs(t, testenv.K6) }, "jmeter": needsJMeter,
	} {
		t.Run(tool, func(t *testing.T) {
			needs(t)
			run := func(args ...string) output {
				var got output
				for again := 0; again == 0 || again < 5 && got.code == exitInconclusive; again++ {
					var stdout, stderr strings.Builder
					cmd := process(t, append([]string{"burst", "--tool=" + tool, "--dir=../..", "--users=40"}, args...)...)
					cmd.Env = append(os.Environ(), "NGINX_PORT="+balancer.Port(), "USERS=", "VERSION=v1,v3")
					cmd.Stdout, cmd.Stderr = &stdout, &stderr
					_ = cmd.Run()
					got = output{code: cmd.ProcessState.ExitCode(), out: stdout.String(), err: stderr.String()}
				}
				return got
			}
			got := run()
			name := map[string]string{"k6": "k6", "jmeter": "JMeter"}[tool]
			for _, want := range []string{
				"40 simultaneous page views by " + name + ", two instances behind http://127.0.0.1:" + balancer.Port() + ", Redis single ",
				" v1 none ", " v3 Redis lock 40 0 20 + 20 ", " v3 Redis lock 1 10 + 10 ",
			} {
				if got.code != exitOK || !strings.Contains(strings.Join(strings.Fields(got.out), " "), want) {
					t.Errorf("exit %d, and no %q in\n%s%s", got.code, want, got.out, got.err)
				}
			}
			if strings.Contains(got.out+got.err, "Outcome: ") || strings.Contains(got.out+got.err, "summary") {
				t.Errorf("it shows what the tool prints:\n%s%s", got.out, got.err)
			}
			got = run("--json", "--versions=v3", balancer.String())
			var result burst.Results
			if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != exitOK {
				t.Fatalf("exit %d: %v: %s%s", got.code, err, got.out, got.err)
			}
			timed := result.Pageview[0].TookMS > 0 && result.Order[0].TookMS > 0
			if result.Tool != name || len(result.Pageview) != 1 || result.Pageview[0].Final != 40 || !timed {
				t.Errorf("%+v", result)
			}
		})
	}
}

// When a tool is missing or records nothing, the error names the burst, and what the tool printed is shown.
func TestBurstByAToolThatFails(t *testing.T) {
	url := startPair(t)
	run := func(tool, dir string) output {
		return app(testenv.Context(t), "burst", "--tool="+tool, "--dir="+dir, "--users=40", "--versions=v3", url)
	}
	t.Setenv("JMETER_HOME", t.TempDir())
	got := run("jmeter", "../..")
	if got.code != exitUnavailable || !strings.Contains(got.err, "\nThere is no JMeter in JMETER_HOME") ||
		!strings.Contains(got.err, "\napp: v3, page views by JMeter: JMeter wrote no file") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	t.Run("k6", func(t *testing.T) {
		testenv.Needs(t, testenv.K6)
		got := run("k6", t.TempDir())
		if got.code != exitUnavailable || !strings.Contains(got.err, "loadtest/k6/pview.js") ||
			!strings.Contains(got.err, "\napp: v3, page views by k6: k6 wrote no file") {
			t.Errorf("exit %d: %s", got.code, got.err)
		}
	})
	wantSentence(t, run("jmeter", t.TempDir()), exitUnavailable, "JMeter does not start", "loadtest/README.md")
	t.Setenv("PATH", t.TempDir())
	wantSentence(t, run("k6", "../.."), exitUnavailable, "k6 does not start", "loadtest/README.md")
}

// The variables USERS and VERSION say what app burst sends, unless a flag or its variable does. In a container they are those of the
// environment, and in a checkout those of .env as well, over which the shell has precedence.
func TestBurstReadsVariables(t *testing.T) {
	for _, name := range []string{"USERS", "VERSION", "LAB_USERS", "LAB_VERSIONS"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	url := startPair(t)
	sent := func(args ...string) string {
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
		return fmt.Sprint(result.Users, " ", strings.Join(names, ","))
	}
	want := func(want string, args ...string) {
		t.Helper()
		if got := sent(args...); got != want {
			t.Errorf("it sends %s, want %s", got, want)
		}
	}
	dir := copyLab(t)
	for _, from := range []string{t.TempDir(), dir} {
		t.Chdir(from)
		t.Setenv("USERS", "40")
		t.Setenv("VERSION", "v0, v3")
		want("40 v0,v3", url)
		want("20 v5", "--users=20", "--versions=v5", url)
		t.Setenv("LAB_USERS", "30")
		want("30 v0,v3", url)
		os.Unsetenv("LAB_USERS")
	}
	os.Unsetenv("VERSION")
	os.Unsetenv("USERS")
	env := "USERS=60\nVERSION=v3\nNGINX_PORT=" + url[strings.LastIndex(url, ":")+1:] + "\n"
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(env), 0o600); err != nil {
		t.Fatal(err)
	}
	want("60 v3")
	t.Setenv("USERS", "40")
	want("40 v3")
}

// A wrong variable has the error of its flag, which names the variables.
func TestBurstRejectsWrongVariables(t *testing.T) {
	t.Chdir(t.TempDir())
	for setting, want := range map[string]string{
		"VERSION=v99": "v99", "USERS=7": "must be even", "APP_INSTANCES=1": "--instances is 1",
	} {
		t.Run(setting, func(t *testing.T) {
			name, value, _ := strings.Cut(setting, "=")
			t.Setenv(name, value)
			got := app(t.Context(), "burst", "http://127.0.0.1:1")
			wantSentence(t, got, exitUsage, want)
			wantSentence(t, got, exitUsage, name)
		})
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
	for _, tool := range []string{"app", "k6"} {
		wantSentence(t, app(t.Context(), "burst", "--tool="+tool), exitUsage, "rename it to .env", "give the URL")
	}
	wantSentence(t, app(t.Context(), "burst", "http://127.0.0.1:1"), exitUnavailable, "127.0.0.1:1", "refused")
	if got := app(t.Context(), "doctor", only("files")); got.code != exitUnexpected || !strings.Contains(got.out, "rename it to .env") {
		t.Errorf("the doctor: exit %d: %s%s", got.code, got.out, got.err)
	}
}
