//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/lab/testenv"
	"locklab/versions"
)

// "all" leaves out versions that cannot run. A named version that cannot run is an error, and so is any with LAB_REQUIRE=all.
func TestVersionsThatCannotRun(t *testing.T) {
	t.Setenv("LAB_REQUIRE", "")
	noRedLock := func(v versions.Version) error {
		if v.Server() == versions.NameRedLock {
			return errors.New("lockd is missing (Debian: apt-get install lockd)")
		}
		return nil
	}
	all := []string{"all"}
	chosen, leftOut, err := chooseVersions(all, noRedLock)
	if err != nil || slices.Contains(chosen, "v4") || len(chosen) != len(versions.Names())-1 ||
		!slices.Equal(leftOut, []string{"v4 (RedLock) is left out: lockd is missing (Debian: apt-get install lockd)"}) {
		t.Errorf("all: got %v, left out %q (%v)", chosen, leftOut, err)
	}
	wantUnavailable := func(err error, want ...string) {
		t.Helper()
		var exit exitError
		if !errors.As(err, &exit) || exit.code != exitUnavailable {
			t.Fatalf("got %v, want exit %d", err, exitUnavailable)
		}
		for _, text := range append(want, "v4", "apt-get install lockd") {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q is missing in: %v", text, err)
			}
		}
	}
	_, _, err = chooseVersions([]string{"v3", "v4"}, noRedLock)
	wantUnavailable(err, "--versions: v4 cannot run")
	t.Setenv("LAB_REQUIRE", "all")
	_, _, err = chooseVersions(all, noRedLock)
	wantUnavailable(err, "LAB_REQUIRE")
}

// The redis-server of Ubuntu 22.04 is too old for the lock's scripts. The program warns and uses miniredis, and does not warn when it was
// told to use that. A command that needs a real server fails, and says which, as it does when there is none.
func TestAnOldRedisServerIsNotUsed(t *testing.T) {
	testenv.Slow(t)
	path := t.TempDir()
	t.Setenv("PATH", path)
	t.Setenv("LAB_REQUIRE", "")
	t.Chdir(t.TempDir())
	wantSentence(t, app(t.Context(), "demo", "--topology=cluster"), exitUnavailable, "--topology cluster", "redis-server", "apt-get install")
	old := "#!/bin/sh\n[ \"$1\" = --version ] || exit 1\necho 'Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64'\n"
	if err := os.WriteFile(filepath.Join(path, "redis-server"), []byte(old), 0o700); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		code int
		once []string
	}{
		"demo --users=2 --drivers=2 --think=1ms --versions=v3": {exitOK, []string{"6.0.16", "Using miniredis"}},
		"demo --topology=cluster":                              {exitUnavailable, []string{"--topology cluster", "6.0.16", "6.2"}},
		"lab run F02":                                          {exitUnavailable, []string{"F02-sentinel", "6.0.16", "6.2"}},
		"lab try -- ./no-such-lock":                            {exitUsage, []string{"6.0.16", "Using miniredis"}},
		"lab run L10 --embedded --trials=1":                    {exitOK, nil},
	} {
		got := app(testenv.Context(t), strings.Fields(args)...)
		for _, text := range want.once {
			if strings.Count(got.err, text) != 1 {
				t.Errorf("%s: want %q once in %q", args, text, got.err)
			}
		}
		if got.code != want.code || len(want.once) == 0 && strings.Contains(got.err, "6.0.16") {
			t.Errorf("%s: exit %d, want %d: %s", args, got.code, want.code, got.err)
		}
	}
}
