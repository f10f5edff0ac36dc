//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/experiments/loadtool"
	"locklab/internal/testenv"
)

// copyEarlierFile returns a copy of the file of an earlier run whose verdict is as expected.
func copyEarlierFile(t *testing.T, name string) (file string) {
	t.Helper()
	text, err := os.ReadFile(loadtoolData + name)
	if err != nil {
		t.Fatal(err)
	}
	return writeTemp(t, string(text))
}

// app k6 judges the file of its own run. If k6 writes no file, there is no verdict.
func TestK6JudgesItsOwnFile(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.K6)
	balancer, _ := startInstances(t)
	for _, c := range []struct {
		name, words string
		code        int
		want        string
	}{
		{"views", "pview", exitOK, "v3, 20 users, "},
		{"drivers", "order", exitOK, "v3, 20 users, "},
		{"the machine-readable summary", "pview --new-machine-readable-summary", exitOK, "#0: 10, #1: 10"},
		{"after --", "-- order", exitOK, "v3, 20 users, "},
		{"no summary", "pview --summary-mode=disabled", exitUnavailable, "k6 wrote no file"},
		{"a wrong variable", "pview -e VERSION=v99", exitUnavailable, "k6 wrote no file"},
		{"another file", "pview -e SUMMARY=/dev/null", exitUnavailable, "k6 wrote no file"},
		{"the id of another run", "pview -e RUN_ID=x", exitUnavailable, "the file of another run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := copyEarlierFile(t, "pview-v3.k6.json")
			words := append(strings.Fields(c.words), "-e", "BASE_URL="+balancer.String(), "-e", "USERS=20")
			got := app(t.Context(), append([]string{"k6", "--dir=../..", "--out=" + file}, words...)...)
			wantJudged(t, got, file, c.code, c.want)
		})
	}
}

// wantJudged checks that a run that succeeded has a verdict on file, and that one that failed has none and leaves no file.
func wantJudged(t *testing.T, got output, file string, code int, want string) {
	t.Helper()
	if got.code != code || !strings.Contains(got.out+got.err, want) {
		t.Fatalf("exit %d, want %d and %q: %s%s", got.code, code, want, got.out, got.err)
	}
	if code == exitOK && !strings.HasPrefix(got.out, file+": run of ") || code == exitOK && !strings.Contains(got.out, " seconds ago\n") {
		t.Errorf("the output does not begin with the file and the time of the run: %s", got.out)
	}
	if _, err := os.Stat(file); code == exitUnavailable && (got.out != "" || err == nil) {
		t.Errorf("there is a verdict, or the file of an earlier run: %v, %s", err, got.out)
	}
}

// A file that cannot be written, or that does not come from a load tool, is an error before anything is sent. The file is kept.
func TestLoadToolKeepsOtherFiles(t *testing.T) {
	testenv.Needs(t, testenv.K6)
	needsJMeter(t)
	poem := writeTemp(t, "a poem")
	for _, command := range []string{"k6", "jmeter"} {
		to := func(file string) output { return app(t.Context(), command, "--dir=../..", "--out="+file, "pview") }
		wantSentence(t, to(poem), exitUsage, "--out is "+poem, "of something else", "nothing was sent")
		wantSentence(t, to(filepath.Join(poem, "x")), exitUsage, "--out", "not a directory")
	}
	link, real := filepath.Join(t.TempDir(), "link"), copyEarlierFile(t, "pview-v3.k6.json")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		t.TempDir(): "no regular file", os.DevNull: "no regular file", link: "no regular file",
		writeTemp(t, `{"metrics":{"f1":0.9},"model":"mine"}`): "of something else", writeTemp(t, "<a><testResults/></a>"): "of something else",
	} {
		wantSentence(t, app(t.Context(), "k6", "--dir=../..", "--out="+name, "pview"), exitUsage, "--out is "+name, want)
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(real); err != nil || len(text) == 0 {
		t.Errorf("the file behind the link is empty: %v", err)
	}
	if text, err := os.ReadFile(poem); err != nil || string(text) != "a poem" {
		t.Errorf("the poem is %q, %v", text, err)
	}
}

// app jmeter judges the file of its own run. If a setting makes the file unreadable, the error names the setting.
func TestJMeterJudgesItsOwnFile(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	needsJMeter(t)
	balancer, _ := startInstances(t)
	for _, c := range []struct {
		name, setting string
		code          int
		want          string
	}{
		{"as it is", "-Jversion=v3", exitOK, "v3, 20 users, "},
		{"another file", "-l/dev/null", exitUnavailable, "JMeter wrote no file"},
		{"tabs", "-Jjmeter.save.saveservice.default_delimiter=\\t", exitUnavailable, "default_delimiter=,"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := copyEarlierFile(t, "pview-v3.csv.jtl")
			got := app(t.Context(), "jmeter", "--dir=../..", "--out="+file, "pview", "-Jhost="+balancer.Hostname(), "-Jport="+balancer.Port(),
				"-Jusers=20", c.setting)
			wantJudged(t, got, file, c.code, c.want)
		})
	}
}

// Several labs may share one machine. A load tool sends its burst to the port of its own checkout.
func TestLoadToolUsesThePortOfItsCheckout(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.K6)
	balancer, _ := startInstances(t)
	for name, c := range map[string]struct{ words, variable string }{
		"k6, the checkout's port": {"k6 pview -e USERS=20", "NGINX_PORT=" + balancer.Port()},
		"k6, its own variable":    {"k6 pview -e USERS=20", "BASE_URL=" + balancer.String()},
		"JMeter":                  {"jmeter pview -Jusers=20", "NGINX_PORT=" + balancer.Port()},
	} {
		t.Run(name, func(t *testing.T) {
			words := strings.Fields(c.words)
			if words[0] == "jmeter" {
				needsJMeter(t)
			}
			cmd := process(t, append([]string{words[0], "--dir=../..", "--out=" + filepath.Join(t.TempDir(), "run")}, words[1:]...)...)
			cmd.Env = append(os.Environ(), c.variable)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "v3, 20 users, ") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// Flags before the burst are ours, and those after it go to the tool.
func TestParseBurst(t *testing.T) {
	for words, want := range map[string]string{
		"pview": "", "order -e VERSION=v1": "", "-- order": "", "shop": "use pview or order", "--": "use pview or order",
		"pview --out=x": "put it before pview", "order --json": "put it before order",
	} {
		b, err := (&loadCommand{Words: strings.Fields(words)}).parseBurst(loadtool.K6, "file")
		if ok := err == nil && strings.Contains(words, string(b.Kind)); ok != (want == "") || !ok && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", words, b, err, want)
		}
	}
	wantSentence(t, app(t.Context(), "k6"), exitUsage, "what")
}

// Settings in a file that Compose does not read may hide the port of this lab. So the commands refuse to send anything without a URL.
func TestUnreadSettings(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"docker-compose.yml": page(t, "docker-compose.yml"), ".env.local": "NGINX_PORT=15700\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantSentence(t, app(t.Context(), "k6", "--dir="+dir, "pview"), exitUsage, "rename it to .env")
	t.Chdir(dir)
	wantSentence(t, app(t.Context(), "burst"), exitUsage, "rename it to .env", "give the URL")
	wantSentence(t, app(t.Context(), "burst", "http://127.0.0.1:1"), exitUnavailable, "127.0.0.1:1", "refused")
	if got := app(t.Context(), "doctor", only("files")); got.code != exitUnexpected || !strings.Contains(got.out, "rename it to .env") {
		t.Errorf("the doctor: exit %d: %s%s", got.code, got.out, got.err)
	}
}
