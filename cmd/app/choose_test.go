//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/experiments/burst"
	"locklab/internal/testenv"
	"locklab/versions"
)

func TestVersionsThatCannotRun(t *testing.T) {
	t.Setenv("LAB_REQUIRE", "")
	noRedLock := func(v versions.Version) error {
		if v.Needs == versions.RedLockNodes {
			return errors.New("lockd is missing (Debian: apt-get install lockd)")
		}
		return nil
	}
	all := bursts{Versions: []string{"all"}}
	leftOut, err := all.choose(noRedLock)
	if err != nil || slices.Contains(all.Versions, "v4") || len(all.Versions) != len(versions.Names())-1 ||
		!slices.Equal(leftOut, []string{"v4 (RedLock) is left out: lockd is missing (Debian: apt-get install lockd)"}) {
		t.Errorf("of all there are %v, without %q (%v)", all.Versions, leftOut, err)
	}
	named := bursts{Versions: []string{"v3", "v4"}}
	refused := func(err error, want ...string) {
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
	_, err = named.choose(noRedLock)
	refused(err, "--versions")
	t.Setenv("LAB_REQUIRE", "all")
	all.Versions = []string{"all"}
	_, err = all.choose(noRedLock)
	refused(err, "LAB_REQUIRE")
}

// All versions that can run here run, also those that the default leaves out.
func TestDemoOfAllVersions(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Engines(t, func(t *testing.T, real bool) {
		result, code := demo(t, real, "--users=100", "--versions=all")
		if code != exitOK {
			t.Errorf("exit %d: %s", code, result.Reasons())
		}
		if want := len(versions.Names()) - len(result.LeftOut); len(result.Pageview) != want {
			t.Errorf("%d versions ran, want %d", len(result.Pageview), want)
		}
		if testenv.ZooKeeper.Met() && testenv.Etcd.Met() && testenv.Memcached.Met() && len(result.LeftOut) != 0 {
			t.Errorf("every server is there, and it leaves out %q", result.LeftOut)
		}
		for _, sentence := range result.LeftOut {
			if !strings.Contains(sentence, "apt-get install ") {
				t.Errorf("it does not say what to install: %s", sentence)
			}
		}
	})
}

// Where no etcd is, all versions are those that run without a build. For v7 by its name one is built, before what has a bound.
func TestDemoWithoutEtcd(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	path, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "go"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	without := func(args ...string) output {
		cmd := process(t, append([]string{"demo", "--embedded", "--users=20", "--think=1ms"}, args...)...)
		cmd.Env = append(os.Environ(), "PATH="+path, "HOME="+home, "XDG_CACHE_HOME="+home, "LAB_REQUIRE=")
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &said
		_ = cmd.Run()
		return output{code: cmd.ProcessState.ExitCode(), out: out.String(), err: said.String()}
	}
	named := without("--versions=v7")
	before, after, told := strings.Cut(named.err, "builds one now")
	if named.code != exitUnavailable || !told || strings.Contains(before, "starting") || !strings.Contains(after, "go cannot build one") {
		t.Errorf("exit %d: %s", named.code, named.err)
	}
	all := without("--versions=all") // what 20 views show may be inconclusive
	if strings.Contains(all.err, "builds one now") || all.code == exitUnavailable ||
		!strings.Contains(all.out, "demo --versions v7 builds one") {
		t.Errorf("exit %d: %s%s", all.code, all.out, all.err)
	}
}

// The redis-server of Ubuntu 22.04 is too old for the lock's scripts. It is named, and miniredis takes its place. A command
// that needs a real one ends with 69.
func TestAnOldRedisServerIsNotUsed(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	old := "#!/bin/sh\n[ \"$1\" = --version ] || exit 1\necho 'Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64'\n"
	if err := os.WriteFile(filepath.Join(path, "redis-server"), []byte(old), 0o700); err != nil {
		t.Fatal(err)
	}
	const named = "redis-server on the PATH is 6.0.16, and the lab needs 6.2 or newer"
	for args, want := range map[string]struct {
		code int
		says []string
	}{
		"demo --users=2 --drivers=2 --think=1ms --versions=v3": {exitOK, []string{named + ". miniredis takes its place.\n"}},
		"demo --topology=cluster":                              {exitUnavailable, []string{named + ": install its own package"}},
		"lab run F02":                                          {exitUnavailable, []string{"F02-sentinel", named + ": install its own package"}},
		"lab run R3 --trials=1":                                {exitOK, []string{named + ". miniredis takes its place.\n"}},
		"lab run R3 --embedded --trials=1":                     {exitOK, nil},
	} {
		cmd := process(t, strings.Fields(args)...)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "PATH="+path, "LAB_REQUIRE=")
		var said bytes.Buffer
		cmd.Stderr = &said
		_ = cmd.Run()
		for _, text := range want.says {
			if strings.Count(said.String(), text) != 1 {
				t.Errorf("%s says %q; want %q, once", args, said.String(), text)
			}
		}
		if code := cmd.ProcessState.ExitCode(); code != want.code || len(want.says) == 0 && strings.Contains(said.String(), "6.0.16") {
			t.Errorf("%s ends with %d, want %d: %s", args, code, want.code, said.String())
		}
	}
}

// Instances tell which versions they have.
func TestBurstOfAllVersions(t *testing.T) {
	t.Setenv("LAB_REQUIRE", "") // a version that is left out would be a failure
	// In 100 ms both instances read an order before one writes it.
	url := pair(t, "--order-think=100ms")
	got := fireAt(t, "all", url)
	if got.code != exitOK {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
	for _, want := range []string{"v5 ", "v4 (RedLock) is left out: the instance has v0, v1, v2, v3, v5; v4 needs --redlock"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in:\n%s", want, got.out)
		}
	}
	wantSentence(t, app(t.Context(), "burst", "--versions=v4", url), exitUnavailable, "--versions names v4", "v4 needs --redlock")
	if err := (burst.Health{}).Lacks(versions.Version{Name: "v9"}); err != nil {
		t.Errorf("an instance that does not tell lacks v9: %v", err)
	}
}

func TestVersionsAreAllOrSome(t *testing.T) {
	wantSentence(t, app(t.Context(), "demo", "--versions=v3,all"), exitUsage, "--versions", "all")
}
