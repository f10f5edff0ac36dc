package runner

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// The two plans share no name: a page shows what it finds by name. Each process has the same number of waiters for each key.
func TestScale(t *testing.T) {
	bench := map[string]bool{}
	for _, w := range Plan() {
		bench[w.Name] = true
	}
	whole := time.Duration(0)
	for _, w := range Scale() {
		if bench[w.Name] || !strings.HasPrefix(w.Name, "scale-") {
			t.Errorf("%s: the other plan has it, too", w.Name)
		}
		bench[w.Name] = true
		if w.Lasts > 0 && w.Waiters%(w.Processes*max(1, w.Keys)) != 0 {
			t.Errorf("%s: %d waiters, %d processes, %d keys", w.Name, w.Waiters, w.Processes, w.Keys)
		}
		if longest := w.Lasts + 10*time.Second; w.Limit != longest {
			t.Errorf("%s: waiters fail after %s, want %s", w.Name, w.Limit, longest)
		}
		whole += time.Duration(len(w.Locks)) * w.Takes()
	}
	if reps := time.Duration(3); reps*whole > 10*time.Minute {
		t.Errorf("three repetitions take %s", reps*whole)
	}
}

// Only the servers that a lock uses count.
func TestUsed(t *testing.T) {
	b := &Bench{redis: make([]server, nodes)}
	for lock, want := range map[string]int{"ours": 1, "limit": 1, "v7": 1, "redlock": nodes, "redlock" + hanging: nodes, "redsync5": nodes} {
		if got := len(b.used(lock)); got != want {
			t.Errorf("%s: %d servers, want %d", lock, got, want)
		}
	}
}

// The model needs the number of processors, and reads it from the file.
func TestTheHeaderHasTheProcessors(t *testing.T) {
	if got := (&Bench{}).Describe("all rows", 1).Processors; got != runtime.NumCPU() {
		t.Errorf("%d processors, want %d", got, runtime.NumCPU())
	}
}
