package main

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
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
		if version, _, _ := strings.Cut(given, " "); build() != version || currentOrigin().String() != given {
			t.Errorf("%q: the build is %q, and the origin %q", given, build(), currentOrigin())
		}
	}
}

// Without a stamp, the version comes from the git checkout.
func TestVersionFromGit(t *testing.T) {
	if gitOutput("rev-parse", "HEAD") == "" {
		t.Skip("not a git checkout")
	}
	o := gitOrigin()
	if !regexp.MustCompile(`^(v\d|[0-9a-f]{7,})`).MatchString(o.version) || !regexp.MustCompile(`^[0-9a-f]{7,}$`).MatchString(o.commit) ||
		!regexp.MustCompile(`^\d{4}-\d\d-\d\dT.*Z$`).MatchString(o.date) {
		t.Errorf("the checkout is %+v", o)
	}
	if self, err := os.Executable(); err == nil && strings.Contains(self, "go-build") { // like the binary of go run
		if out, err := process(t, "--version").Output(); err != nil || !strings.HasPrefix(string(out), "app "+o.version+" (commit ") {
			t.Errorf("--version prints %s (%v), the checkout is %+v", out, err, o)
		}
	}
	t.Chdir(t.TempDir())
	if o := gitOrigin(); o != (origin{}) {
		t.Errorf("outside of a checkout, the origin is %+v", o)
	}
}
