//go:build unix

package servers_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

func TestEtcdElectsAnotherLeader(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.Etcd)
	ctx := testenv.Context(t)
	e, err := testenv.Stack(t).Etcd(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	first := leader(t, e)
	testenv.Eventually(t, "one member leads, and none of the others", func() bool {
		first = leader(t, e) // a stall may have made another one the leader
		others := servers.Etcd{Members: without(e.Members, first)}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := others.Leader(short)
		return err != nil
	})
	first.Kill()
	second := leader(t, e)
	if second == first {
		t.Fatalf("%s was killed, and leads", first)
	}
	if proof, err := first.Restart(ctx); err != nil || !strings.Contains(proof, "has ended") { // it waits until the member has joined
		t.Fatal(proof, err)
	}
	testenv.Pause(t, second)
	third := leader(t, e)
	if third == second {
		t.Fatalf("%s is paused, and leads", second)
	}
	second.Resume()
	for _, m := range e.Members {
		select {
		case <-m.Done():
			t.Errorf("%s has ended", m)
		default:
		}
	}
}

// A member of several that has lost its disk is refused by the others.
func TestEtcdMemberWithoutItsDisk(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.Etcd)
	ctx := testenv.Context(t)
	e, err := testenv.Stack(t).Etcd(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Members[0].LoseDisk(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Members[0].Restart(ctx); err == nil || !strings.Contains(err.Error(), "has already been bootstrapped") {
		t.Errorf("it starts again: %v", err)
	}
}

func leader(t *testing.T, e *servers.Etcd) *servers.Member {
	t.Helper()
	m, err := e.Leader(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Without a majority nobody serves, whatever a member still says of its leader.
func TestEtcdWithoutAMajorityHasNoLeader(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.Etcd)
	e, err := testenv.Stack(t).Etcd(testenv.Context(t), 3)
	if err != nil {
		t.Fatal(err)
	}
	l := leader(t, e)
	for _, m := range e.Members {
		if m != l {
			m.Kill()
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := e.Leader(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that no leader was found in time", err)
	}
}

func TestEtcdOfTwoServersIsRefused(t *testing.T) {
	if _, err := testenv.Stack(t).Etcd(t.Context(), 2); err == nil || !strings.Contains(err.Error(), "1 or 3") {
		t.Errorf("got %v", err)
	}
}

// A setting that etcd refuses is etcd's own error, and not a wait.
func TestEtcdThatDoesNotStartSaysWhy(t *testing.T) {
	testenv.Needs(t, testenv.Etcd)
	_, err := testenv.Stack(t).Etcd(testenv.Context(t), 1, "--election-timeout", "60")
	if err == nil || !strings.Contains(err.Error(), "should be at least as 5 times") {
		t.Errorf("got %v", err)
	}
}

// An etcd is built once, and the user is told before.
func TestPrepareEtcdBuildsOnce(t *testing.T) {
	path := t.TempDir()
	t.Setenv("PATH", path+":"+links(t, "sh", "touch")) // and no etcd
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	compiler := []byte("#!/bin/sh\n[ \"$1 $2\" = 'build -o' ] && touch \"$3\"\n")
	if err := os.WriteFile(filepath.Join(path, "go"), compiler, 0o700); err != nil {
		t.Fatal(err)
	}
	told := 0
	if servers.EtcdIsThere() {
		t.Error("it is there before it is built")
	}
	for range 2 {
		if err := servers.PrepareEtcd(t.Context(), func() { told++ }); err != nil {
			t.Fatal(err)
		}
	}
	if told != 1 || !servers.EtcdIsThere() {
		t.Errorf("told %d times that it is built, want once; it is there: %v", told, servers.EtcdIsThere())
	}
}

// links is a directory with some programs only.
func links(t *testing.T, programs ...string) string {
	dir := t.TempDir()
	for _, name := range programs {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Without etcd and without go the error says what to install.
func TestEtcdProgramIsFoundOrSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	if _, err := servers.EtcdProgram(t.Context()); err == nil || !strings.Contains(err.Error(), "apt-get install etcd-server") {
		t.Errorf("got %v", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	built := filepath.Join(cache, "locklab", "etcd-v3.7.3")
	if err := os.MkdirAll(filepath.Dir(built), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(built, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if argv, err := servers.EtcdProgram(t.Context()); err != nil || !slices.Contains(argv, built) {
		t.Errorf("a program that was built before is not used: %v, %v", argv, err)
	}
}
