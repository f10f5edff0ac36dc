package main

import (
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
		"1234567":                              "app 1234567 (" + machine,
	} {
		stamp = given
		if got := app(t.Context(), "--version"); got.code != exitOK || got.out != want+"\n" || got.err != "" {
			t.Errorf("%q: exit %d: %q, %q; want %q", given, got.code, got.out, got.err, want)
		}
		if version, _, _ := strings.Cut(given, " "); build() != version {
			t.Errorf("%q: the build is %q", given, build())
		}
	}
}

// Without a stamp, the version comes from the git checkout.
func TestVersionFromGit(t *testing.T) {
	if gitOutput("rev-parse", "HEAD") == "" {
		t.Skip("not a git checkout")
	}
	o := gitOrigin()
	if !regexp.MustCompile(`^(v\d|[0-9a-f]{7,})\S* [0-9a-f]{7,} \d{4}-\d\d-\d\dT.*Z$`).MatchString(o) {
		t.Errorf("the checkout is %q", o)
	}
	t.Chdir(t.TempDir())
	if o := gitOrigin(); o != "" {
		t.Errorf("outside of a checkout, the origin is %q", o)
	}
}
