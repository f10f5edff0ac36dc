package locktest

import (
	"errors"
	"testing"

	"locklab/lockstrategy"
	"locklab/versions"
)

// A detector that cannot fail would let every lock pass.
func TestNoLockIsCaught(t *testing.T) {
	if err := Excludes(t.Context(), lockstrategy.None{}, lockstrategy.None{}, "lock:contended", 8, 200); !errors.Is(err, errOverlap) {
		t.Fatalf("no lock at all passes as exclusive: %v", err)
	}
}

// So would one that does not see two processes with a mutex each.
func TestTwoMutexesAreCaught(t *testing.T) {
	one, two := mutex(t), mutex(t)
	if err := Excludes(t.Context(), one, two, "lock:contended", 8, 200); !errors.Is(err, errOverlap) {
		t.Fatalf("two mutexes pass as one: %v", err)
	}
	if err := Excludes(t.Context(), one, one, "lock:contended", 8, 200); err != nil {
		t.Fatalf("one mutex does not pass: %v", err)
	}
}

func mutex(t *testing.T) lockstrategy.Strategy {
	t.Helper()
	opened, err := versions.Open(versions.NameProcess, versions.Backends{})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}
