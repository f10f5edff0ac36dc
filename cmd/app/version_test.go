package main

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestVersionNamesVersionCommitAndDate(t *testing.T) {
	before := stamp
	t.Cleanup(func() { stamp = before })
	machine := runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	for given, want := range map[string]string{
		"v0.1.0 be3c0820 2026-11-27T02:42:54Z": "app v0.1.0 (commit be3c0820 of 2026-11-27T02:42:54Z, " + machine,
		"v0.1.0 be3c0820":                      "app v0.1.0 (commit be3c0820 of an unknown date, " + machine,
		"1234567":                              "app 1234567 (" + machine,
	} {
		stamp = given
		if got := app(t.Context(), "--version"); got.code != exitOK || got.out != want+"\n" || got.err != "" {
			t.Errorf("%q: exit %d: %q, %q; want %q", given, got.code, got.out, got.err, want)
		}
		if version, _, _ := strings.Cut(given, " "); build() != version || built().String() != given {
			t.Errorf("%q: the build is %q, and an image would get %q", given, build(), built())
		}
	}
}

// Without a stamp git names the checkout in which the program is. A test runs in one.
func TestWithoutAStampGitNamesTheCheckout(t *testing.T) {
	if git("rev-parse", "HEAD") == "" {
		t.Skip("git knows no checkout here")
	}
	o := described()
	if !regexp.MustCompile(`^(v\d|[0-9a-f]{7,})`).MatchString(o.version) || !regexp.MustCompile(`^[0-9a-f]{7,}$`).MatchString(o.commit) ||
		!regexp.MustCompile(`^\d{4}-\d\d-\d\dT.*Z$`).MatchString(o.date) {
		t.Errorf("the checkout is %+v", o)
	}
	if self, err := os.Executable(); err == nil && strings.Contains(self, "go-build") { // as go run makes one
		if out, err := process(t, "--version").Output(); err != nil || !strings.HasPrefix(string(out), "app "+o.version+" (commit ") {
			t.Errorf("--version says %s (%v), and the checkout is %+v", out, err, o)
		}
	}
	t.Chdir(t.TempDir())
	if o := described(); o != (origin{}) {
		t.Errorf("outside of a checkout it is %+v", o)
	}
}
