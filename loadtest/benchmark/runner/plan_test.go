package runner

import (
	"slices"
	"testing"

	"locklab/loadtest/benchmark/worker"
)

// Every row does all sections of its workload, in as many processes as the table says. A load that lasts has equal processes, so that
// their shares compare.
func TestSplit(t *testing.T) {
	for _, plan := range Plans {
		for _, w := range plan {
			if w.Lasts > 0 && w.Waiters%w.Processes != 0 {
				t.Errorf("%s: %d waiters in %d processes", w.Name, w.Waiters, w.Processes)
			}
			for _, lock := range w.Locks {
				sections := 0
				loads, locks := w.split(lock)
				for _, load := range loads {
					sections += load.Waiters * load.Each
				}
				if want := w.Waiters - w.Waiters%max(1, w.Keys); lock == "limit" && sections != want || lock != "limit" && sections != w.Waiters {
					t.Errorf("%s, %s: %d sections, want %d", w.Name, lock, sections, w.Waiters)
				}
				if one := lock == "limit" || lock == "local"; one && len(loads) != 1 || !one && len(loads) != w.Processes || len(locks) != len(loads) {
					t.Errorf("%s, %s: %d processes with %d locks", w.Name, lock, len(loads), len(locks))
				}
			}
		}
	}
}

// The first process has the other lock.
func TestSplitBeside(t *testing.T) {
	_, locks := Workload{Processes: 3, Waiters: 96, Beside: "redisson"}.split("ours-4")
	if !slices.Equal(locks, []string{"redisson", "ours-4", "ours-4"}) {
		t.Errorf("beside Redisson: %v", locks)
	}
}

func TestOnly(t *testing.T) {
	plan := Only(Plans["bench"], []string{"burst", "hand-over"}, []string{"limit", "ours"})
	if len(plan) != 2 || !slices.Equal(plan[0].Locks, []string{"limit", "ours"}) || !slices.Equal(plan[1].Locks, []string{"ours"}) {
		t.Errorf("got %+v", plan)
	}
	if plan := Only(Plans["bench"], []string{"burst"}, []string{"v9"}); len(plan) != 0 {
		t.Errorf("an unknown lock: %+v", plan)
	}
}

// A lock is opened on the servers that keep it.
func TestServers(t *testing.T) {
	b := &Bench{redis: make([]server, 5)}
	for lock, want := range map[string]struct {
		other string
		redis int
	}{
		"ours": {"", 1}, "limit": {"", 1}, "redsync" + worker.Mutex: {"", 1}, "redisson": {"", 1}, "bare": {"", 1},
		"redlock": {"", 5}, "redlock" + worker.Bare: {"", 5}, "redsync5": {"", 5},
		"v5" + worker.Bare: {"database", 1}, "GET_LOCK": {"database", 1}, "zk.Lock": {"zookeeper", 1},
		"v7": {"etcd", 1}, "etcd" + worker.Mutex: {"etcd", 1}, "v8": {"memcached", 1},
	} {
		kind, other := serverOf(lock)
		if got := len(b.used(lock)); got != want.redis || other != (want.other != "") || other && kind.Name != want.other {
			t.Errorf("%s: %q and %d of Redis", lock, kind.Name, got)
		}
	}
}
