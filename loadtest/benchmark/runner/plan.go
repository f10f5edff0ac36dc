package runner

import (
	"slices"
	"strconv"
	"time"

	"locklab/loadtest/benchmark/worker"
)

// Workload is a load and the locks that are measured under it. A lock under a workload is a row of the page.
type Workload struct {
	Name      string
	Kind      string // of worker.Load
	Processes int
	Waiters   int           // of all processes together
	Keys      int           // 0: one
	Lasts     time.Duration // 0: a burst
	Limit     time.Duration // a waiter that waits longer has failed
	Beside    string        // the lock of the first process, when it has another one; empty: all have the row's
	Locks     []string
}

// Plans are what make bench and make scale run.
var Plans = map[string][]Workload{"bench": slices.Concat(libraries(), onBackends()), "scale": scale()}

var (
	bounds = []string{"limit", "local"}
	quick  = []string{"rueidislock", "redsync", "redislock", "redisson", "etcd"}
	queued = []string{"rueidislock" + worker.Mutex, "redsync" + worker.Mutex, "redislock" + worker.Mutex, "etcd" + worker.Mutex}
)

// uncontended is a load of one goroutine that locks and unlocks.
func uncontended(name string, locks ...string) Workload {
	return Workload{Name: name, Kind: worker.Uncontended, Processes: 1, Waiters: 1, Lasts: 500 * time.Millisecond, Locks: locks}
}

// burst is a load of 666 waiters that lock at the same moment, once.
func burst(name string, processes int, locks ...string) Workload {
	return Workload{Name: name, Kind: worker.Burst, Processes: processes, Waiters: 666, Locks: locks}
}

// sustained is a load in which each waiter locks again and again. A turn of a process lasts up to 100 ms, and shares are even only over
// several turns of each.
func sustained(name string, processes, waiters int, locks ...string) Workload {
	lasts := max(800*time.Millisecond, time.Duration(processes)*150*time.Millisecond)
	return Workload{Name: name, Kind: worker.Sustained, Processes: processes, Waiters: waiters, Lasts: lasts, Locks: locks}
}

// within sets how long a waiter may wait, in addition to the time that the load lasts.
func within(limit time.Duration, plan ...Workload) []Workload {
	for i := range plan {
		plan[i].Limit = limit + plan[i].Lasts
	}
	return plan
}

// libraries compares v3 with other libraries.
func libraries() []Workload {
	ours := []string{"ours", "redlock"}
	keys := sustained("keys-10", 2, 64, "limit", "local", "ours", "rueidislock")
	keys.Keys = 10
	beside := sustained("beside-redisson", 3, 96, "ours-1", "ours-4", "ours-16", "ours")
	beside.Beside, beside.Lasts = "redisson", 5*time.Second
	handOver := Workload{Name: "hand-over", Kind: worker.HandOver, Processes: 2, Waiters: 2, Lasts: 800 * time.Millisecond}
	handOver.Locks = slices.Concat(ours, quick)
	return within(6*time.Second,
		uncontended("uncontended", slices.Concat([]string{"ping"}, ours, quick)...),
		burst("burst", 2, slices.Concat(bounds, ours, quick, queued, []string{"redisson-fair", "redsync5"})...),
		sustained("sustained", 2, 64, slices.Concat(bounds, ours, quick, queued)...),
		keys, handOver, beside,
	)
}

// onBackends compares our locks on all servers. A bare one serves hundreds of waiters so slowly that only the burst has it.
func onBackends() []Workload {
	locks := []string{"ours", "redlock", "v5", "GET_LOCK", "v6", "zk.Lock", "v7", "etcd", "v8"}
	bare := []string{"bare"}
	for _, lock := range []string{"redlock", "v5", "v6", "v7", "v8"} {
		bare = append(bare, lock+worker.Bare)
	}
	return within(8*time.Second,
		uncontended("backends-uncontended", locks...),
		burst("backends-burst", 2, slices.Concat(bounds, locks, bare)...),
		sustained("backends-sustained", 2, 64, slices.Concat(bounds, locks)...),
	)
}

// scale has the same loads with more and more processes, and with more and more keys. The reference of more processes is local: limit has
// one goroutine, and one run of it is up to seven times as fast as another.
func scale() (plan []Workload) {
	ours := []string{"ours", "redlock", "v7"}
	referred := append([]string{"local"}, ours...)
	for _, n := range []int{2, 4, 8, 16, 32} {
		number := strconv.Itoa(n)
		plan = append(plan, burst("scale-burst-"+number, n, referred...), sustained("scale-sustained-"+number, n, 128, referred...),
			sustained("scale-one-"+number, n, n, ours...))
	}
	for _, k := range []int{1, 4, 16, 64} {
		keys := sustained("scale-keys-"+strconv.Itoa(k), 4, 32*k, "limit", "ours") // 8 waiters of each process for each key
		keys.Keys = k
		plan = append(plan, keys)
	}
	for _, k := range []int{1, 64} {
		alone := uncontended("scale-alone-"+strconv.Itoa(k), "ours")
		alone.Kind, alone.Waiters, alone.Keys = worker.Sustained, k, k
		plan = append(plan, alone)
	}
	return within(10*time.Second, plan...)
}

// Only keeps the workloads and the locks that are named; an empty list keeps all.
func Only(plan []Workload, workloads, locks []string) (kept []Workload) {
	for _, w := range plan {
		if len(workloads) > 0 && !slices.Contains(workloads, w.Name) {
			continue
		}
		w.Locks = slices.DeleteFunc(slices.Clone(w.Locks), func(lock string) bool {
			return len(locks) > 0 && !slices.Contains(locks, lock)
		})
		if len(w.Locks) > 0 {
			kept = append(kept, w)
		}
	}
	return kept
}

// split says what each process does for a row, and with which lock.
func (w Workload) split(lock string) (loads []worker.Load, locks []string) {
	keys := max(1, w.Keys)
	processes, waiters, each := w.Processes, w.Waiters, 1
	switch lock {
	case "limit": // for each key one goroutine, which does the sections of all waiters
		processes, waiters, each = 1, keys, w.Waiters/keys
	case "local":
		processes = 1
	}
	for i := range processes {
		share := waiters / processes
		if i < waiters%processes {
			share++
		}
		loads = append(loads, worker.Load{
			Kind: w.Kind, Waiters: share, Each: each, Keys: keys,
			Millis: int(w.Lasts.Milliseconds()), Limit: int(w.Limit.Milliseconds()),
		})
		locks = append(locks, lock)
	}
	if w.Beside != "" {
		locks[0] = w.Beside
	}
	return loads, locks
}
