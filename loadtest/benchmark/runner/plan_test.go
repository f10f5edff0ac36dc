package runner

import (
	"slices"
	"testing"

	"locklab/lab/servers"
	"locklab/versions"
)

func TestSplit(t *testing.T) {
	for _, w := range Plan() {
		for _, lock := range w.Locks {
			sections := 0
			processes, locks := w.split(lock)
			if len(locks) != len(processes) {
				t.Errorf("%s, %s: %d processes with %d locks", w.Name, lock, len(processes), len(locks))
			}
			for _, load := range processes {
				sections += load.Waiters * load.Each
			}
			if want := w.Waiters; sections != want && want%max(1, w.Keys) == 0 {
				t.Errorf("%s, %s: %d sections in a burst, want %d", w.Name, lock, sections, want)
			}
			if one := lock == "limit" || lock == "local"; one && len(processes) != 1 {
				t.Errorf("%s, %s: %d processes", w.Name, lock, len(processes))
			}
		}
	}
}

// The first process has the other lock; a lock that runs while nodes hang is the same as without.
func TestSplitNamesTheLocks(t *testing.T) {
	_, locks := Workload{Name: "beside-redisson", Processes: 3, Waiters: 96, Beside: "redisson"}.split("ours-4")
	if !slices.Equal(locks, []string{"redisson", "ours-4", "ours-4"}) {
		t.Errorf("beside Redisson: %v", locks)
	}
	_, locks = Workload{Name: "nodes-hang", Processes: 2, Waiters: 64}.split("redlock" + hanging)
	if !slices.Equal(locks, []string{"redlock", "redlock"}) {
		t.Errorf("with nodes that hang: %v", locks)
	}
}

func TestOnly(t *testing.T) {
	plan := Only(Plan(), []string{"burst", "hand-over"}, []string{"limit", "ours"})
	if len(plan) != 2 || !slices.Equal(plan[0].Locks, []string{"limit", "ours"}) || !slices.Equal(plan[1].Locks, []string{"ours"}) {
		t.Errorf("got %+v", plan)
	}
	if plan := Only(Plan(), []string{"burst"}, []string{"bare"}); !slices.Equal(plan[0].Locks, []string{"bare"}) {
		t.Errorf("a lock that is in no plan: %+v", plan)
	}
	plan = Only(Plan(), []string{"burst", "http"}, []string{"v3", "ours"})
	if len(plan) != 2 || !slices.Equal(plan[0].Locks, []string{"ours"}) || !slices.Equal(plan[1].Locks, []string{"v3"}) {
		t.Errorf("a version and a lock: %+v", plan)
	}
	if plan := Only(Plan(), []string{"bust"}, nil); len(plan) != 0 {
		t.Errorf("an unknown workload: %+v", plan)
	}
}

// The bare form of RedLock is measured where those of the other backends are, and over the five nodes.
func TestRedLockIsMeasuredBare(t *testing.T) {
	for _, w := range Plan() {
		if slices.Contains(w.Locks, "redlock"+bare) != slices.Contains(w.Locks, "v5"+bare) {
			t.Errorf("%s: %v", w.Name, w.Locks)
		}
	}
	for _, lock := range []string{"redlock", "redlock" + bare, "redlock" + hanging, "redsync5"} {
		if !onNodes(lock) {
			t.Errorf("%s is given no nodes", lock)
		}
	}
	if _, locks := (Workload{Processes: 1}).split("redlock" + bare); !slices.Equal(locks, []string{"redlock" + bare}) {
		t.Errorf("the worker opens %v", locks)
	}
	if onNodes("v5" + bare) {
		t.Error("v5 is given nodes of Redis")
	}
}

func TestRound(t *testing.T) {
	w := Workload{Name: "burst", Times: 2, Locks: []string{"ours", "etcd"}}
	for _, c := range []struct {
		rep, again int
		rows       int
	}{{0, 0, 2}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}} {
		if got := w.Round(c.rep, c.again); len(got) != c.rows || got[0] != "ours" {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Each lock on another server than Redis has a kind of server, which is started once, and no other lock has one.
func TestServerOf(t *testing.T) {
	used := map[string]bool{}
	for _, lock := range backends {
		server, needed := serverOf(lock)
		if used[server] = true; !needed || program(server).Debian == "" {
			t.Errorf("%s: %q", lock, server)
		}
	}
	for _, kind := range servers.Kinds() {
		if kind.Requests != nil && !used[kind.Name] {
			t.Errorf("no row is about %s", kind.Title)
		}
	}
	if server, _ := serverOf("etcd" + mutex); server != versions.NameEtcd {
		t.Errorf("etcd behind a mutex: %q", server)
	}
	for _, lock := range slices.Concat(bounds, own, redlock, []string{"redsync" + mutex, "bare", "redlock" + bare, "redsync", "v3"}) {
		if server, needed := serverOf(lock); needed {
			t.Errorf("%s: %q", lock, server)
		}
	}
}

// Rows for which something is missing do not count, and over HTTP all versions are one run.
func TestCount(t *testing.T) {
	b := &Bench{Missing: map[string]string{"redisson": "java"}}
	for kind, want := range map[string]int{"": 2, HTTP: 1} {
		if got := b.Count(Workload{Kind: kind}, []string{"ours", "redisson", "local"}); got != want {
			t.Errorf("%q: %d runs, want %d", kind, got, want)
		}
	}
}
