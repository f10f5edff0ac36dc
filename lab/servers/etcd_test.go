//go:build unix

package servers_test

import (
	"context"
	"errors"
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
