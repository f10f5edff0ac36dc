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

	"locklab/lab/burst"
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

// --versions=all runs every version that can run here, also those that the default leaves out.
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
			t.Errorf("every server is installed, but the demo leaves out %q", result.LeftOut)
		}
		for _, sentence := range result.LeftOut {
			if !strings.Contains(sentence, "apt-get install ") {
				t.Errorf("no package to install in: %s", sentence)
			}
		}
	})
}

// Without etcd, "all" leaves v7 out. Naming v7 is an error.
func TestDemoWithoutEtcd(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	runWithoutEtcd := func(args ...string) output {
		cmd := process(t, append([]string{"demo", "--embedded", "--users=20", "--think=1ms"}, args...)...)
		cmd.Env = append(os.Environ(), "PATH="+t.TempDir(), "LAB_REQUIRE=")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		return output{code: cmd.ProcessState.ExitCode(), out: stdout.String(), err: stderr.String()}
	}
	named := runWithoutEtcd("--versions=v7")
	if named.code != exitUnavailable || !strings.Contains(named.err, "apt-get install etcd-server") ||
		strings.Contains(named.err, "starting") {
		t.Errorf("exit %d: %s", named.code, named.err)
	}
	all := runWithoutEtcd("--versions=all") // a burst of 20 may be inconclusive
	if all.code == exitUnavailable || !strings.Contains(all.out, "apt-get install etcd-server") {
		t.Errorf("exit %d: %s%s", all.code, all.out, all.err)
	}
}

// The redis-server of Ubuntu 22.04 is too old for the lock's scripts. The program warns and uses miniredis. A command that needs a real
// server fails.
func TestAnOldRedisServerIsNotUsed(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
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
		"lab run R3 --trials=1":                                {exitOK, []string{"6.0.16", "Using miniredis"}},
		"lab run R3 --embedded --trials=1":                     {exitOK, nil},
	} {
		cmd := process(t, strings.Fields(args)...)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "PATH="+path, "LAB_REQUIRE=")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		_ = cmd.Run()
		for _, text := range want.once {
			if strings.Count(stderr.String(), text) != 1 {
				t.Errorf("%s: want %q once in %q", args, text, stderr.String())
			}
		}
		if code := cmd.ProcessState.ExitCode(); code != want.code || len(want.once) == 0 && strings.Contains(stderr.String(), "6.0.16") {
			t.Errorf("%s: exit %d, want %d: %s", args, code, want.code, stderr.String())
		}
	}
}

// app burst asks the instances which versions they have.
func TestBurstOfAllVersions(t *testing.T) {
	t.Setenv("LAB_REQUIRE", "") // "all" would make a version that is left out an error
	// 100 ms are enough for both instances to read an order before one writes it.
	url := startPair(t, "--order-think=100ms")
	got := runBurstOn(t, "all", url)
	if got.code != exitOK {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
	for _, want := range []string{"v5 ", "v4 (RedLock) is left out: the instance has v0, v1, v2, v3, v5; v4 needs --redlock"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in:\n%s", want, got.out)
		}
	}
	wantSentence(t, app(t.Context(), "burst", "--versions=v4", url), exitUnavailable, "--versions", "v4 needs --redlock")
	if err := (burst.Health{}).Lacks(versions.Version{Name: "v9"}); err != nil {
		t.Errorf("an instance that lists no versions lacks v9: %v", err)
	}
}

func TestVersionsAreAllOrSome(t *testing.T) {
	wantSentence(t, app(t.Context(), "demo", "--versions=v3,all"), exitUsage, "--versions", "all")
}
