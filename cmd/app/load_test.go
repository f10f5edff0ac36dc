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

// ranBefore is a file that says as expected, of an earlier run.
func ranBefore(t *testing.T, name string) (file string) {
	t.Helper()
	text, err := os.ReadFile(leftBehind + name)
	if err != nil {
		t.Fatal(err)
	}
	return wrote(t, string(text))
}

// A burst is judged from the file of its own run, and not at all when k6 writes none.
func TestK6IsJudgedFromItsOwnFile(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.K6)
	balancer, _ := loaded(t)
	for _, c := range []struct {
		name, words string
		code        int
		says        string
	}{
		{"views", "pview", exitOK, "v3, 20 users, "},
		{"drivers", "order", exitOK, "v3, 20 users, "},
		{"the machine-readable summary", "pview --new-machine-readable-summary", exitOK, "#0: 10, #1: 10"},
		{"behind --", "-- order", exitOK, "v3, 20 users, "},
		{"no summary", "pview --summary-mode=disabled", exitUnavailable, "k6 wrote no file"},
		{"a wrong variable", "pview -e VERSION=v99", exitUnavailable, "k6 wrote no file"},
		{"another file", "pview -e SUMMARY=/dev/null", exitUnavailable, "k6 wrote no file"},
		{"the id of another run", "pview -e RUN_ID=x", exitUnavailable, "the file of another run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := ranBefore(t, "pview-v3.k6.json")
			words := append(strings.Fields(c.words), "-e", "BASE_URL="+balancer.String(), "-e", "USERS=20")
			got := app(t.Context(), append([]string{"k6", "--dir=../..", "--out=" + file}, words...)...)
			wantJudged(t, got, file, c.code, c.says)
		})
	}
}

// wantJudged checks that a verdict is one of the run that has just ended, and that there is none otherwise.
func wantJudged(t *testing.T, got output, file string, code int, says string) {
	t.Helper()
	if got.code != code || !strings.Contains(got.out+got.err, says) {
		t.Fatalf("exit %d, want %d and %q: %s%s", got.code, code, says, got.out, got.err)
	}
	if code == exitOK && !strings.HasPrefix(got.out, file+": run of ") || code == exitOK && !strings.Contains(got.out, " seconds ago\n") {
		t.Errorf("it does not begin with when the run was: %s", got.out)
	}
	if _, err := os.Stat(file); code == exitUnavailable && (got.out != "" || err == nil) {
		t.Errorf("it judges, or leaves the file of an earlier run: %v, %s", err, got.out)
	}
}

// A file that nobody can write is an error before anything is sent, and so is one of something else, which is kept.
func TestALoadToolRemovesNoOtherFile(t *testing.T) {
	testenv.Needs(t, testenv.K6)
	needsJMeter(t)
	poem := wrote(t, "a poem")
	for _, command := range []string{"k6", "jmeter"} {
		to := func(file string) output { return app(t.Context(), command, "--dir=../..", "--out="+file, "pview") }
		wantSentence(t, to(poem), exitUsage, "--out is "+poem, "of something else", "nothing was sent")
		wantSentence(t, to(filepath.Join(poem, "x")), exitUsage, "--out", "not a directory")
	}
	link, real := filepath.Join(t.TempDir(), "link"), ranBefore(t, "pview-v3.k6.json")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		t.TempDir(): "no regular file", os.DevNull: "no regular file", link: "no regular file",
		wrote(t, `{"metrics":{"f1":0.9},"model":"mine"}`): "of something else", wrote(t, "<a><testResults/></a>"): "of something else",
	} {
		wantSentence(t, app(t.Context(), "k6", "--dir=../..", "--out="+name, "pview"), exitUsage, "--out is "+name, says)
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

// JMeter's own settings change its file. It is judged where it can be, and otherwise a sentence says which setting is wrong.
func TestJMeterIsJudgedFromItsOwnFile(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	needsJMeter(t)
	balancer, _ := loaded(t)
	for _, c := range []struct {
		name, setting string
		code          int
		says          string
	}{
		{"as it is", "-Jversion=v3", exitOK, "v3, 20 users, "},
		{"another file", "-l/dev/null", exitUnavailable, "JMeter wrote no file"},
		{"tabs", "-Jjmeter.save.saveservice.default_delimiter=\\t", exitUnavailable, "default_delimiter=,"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := ranBefore(t, "pview-v3.csv.jtl")
			got := app(t.Context(), "jmeter", "--dir=../..", "--out="+file, "pview", "-Jhost="+balancer.Hostname(), "-Jport="+balancer.Port(),
				"-Jusers=20", c.setting)
			wantJudged(t, got, file, c.code, c.says)
		})
	}
}

// Several labs may share one machine. A load tool sends its burst to the lab of its own checkout, whose port is a setting.
func TestALoadToolFindsTheLabOfItsCheckout(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.K6)
	balancer, _ := loaded(t)
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

// A load tool sends one burst of two. Flags before the burst are ours, and those after it are the tool's.
func TestWhatALoadToolSends(t *testing.T) {
	for words, says := range map[string]string{
		"pview": "", "order -e VERSION=v1": "", "-- order": "", "shop": "allowed are pview and order", "--": "allowed are pview and order",
		"pview --out=x": "--out stands behind pview, where flags of k6 are; put it before", "order --json": "--json stands behind order",
	} {
		b, err := (&loadCommand{Words: strings.Fields(words)}).burst(loadtool.K6, "file")
		if ok := err == nil && strings.Contains(words, string(b.Kind)); ok != (says == "") || !ok && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v, %v; want %q", words, b, err, says)
		}
	}
	wantSentence(t, app(t.Context(), "k6"), exitUsage, "what")
}

// Settings that Compose does not read might be those of another lab. So nothing is sent, unless the lab is named.
func TestALoadToolRefusesSettingsThatAreNotRead(t *testing.T) {
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
	wantSentence(t, app(t.Context(), "burst"), exitUsage, "rename it to .env", "or name the URL")
	wantSentence(t, app(t.Context(), "burst", "http://127.0.0.1:1"), exitUnavailable, "127.0.0.1:1", "refused")
	if got := app(t.Context(), "doctor", only("files")); got.code != exitUnexpected || !strings.Contains(got.out, "rename it to .env") {
		t.Errorf("the doctor: exit %d: %s%s", got.code, got.out, got.err)
	}
}
