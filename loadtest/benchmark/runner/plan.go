package runner

import (
	"slices"
	"strings"
	"time"

	"locklab/loadtest/benchmark/worker"
	"locklab/versions"
)

// Workload is one table of the page: a load, the processes that share it, and the rows.
type Workload struct {
	Name      string
	Kind      string
	Processes int
	Waiters   int           // of all processes together
	Keys      int           // 0: one
	Lasts     time.Duration // sustained, uncontended; of a hand-over: at most
	Count     int           // hand-overs; of the demo: rounds
	Limit     time.Duration // a waiter that waits longer has failed
	Delayed   bool          // through the emulated round trip
	Half      bool          // all processes together, servers included, have half of the machine's processor time
	Beside    string        // the lock of the first process, when it has another one; "": all have the row's
	Times     int           // runs of a fast row in one repetition; 0: one
	Locks     []string
}

// Takes is about how long a run is, for the estimate of the time left: it also starts the processes.
func (w Workload) Takes() time.Duration { return time.Second + w.Lasts }

// hanging ends the name of a lock that runs while two of its five nodes are stopped.
const hanging = "-hang"

// mutex ends the name of a library behind a mutex in each process.
const mutex = "-mutex"

// Locks in the order of the page.
var (
	bounds  = []string{"limit", "local"}
	own     = []string{"ours"}
	turns   = []string{"ours-1", "ours-4", "ours-16"} // with HandOff.Count of so many
	redlock = []string{"redlock"}
	quick   = []string{"rueidislock", "redsync", "redislock", "redisson", "etcd"}
	queued  = []string{"rueidislock" + mutex, "redsync" + mutex, "redislock" + mutex, "etcd" + mutex}
	named   = slices.Concat(own, turns, redlock, quick, queued, []string{ // --only adds them to any workload
		"bare", "redlock" + bare, "redisson-fair", "redsync5", "redsync5" + hanging,
	}, backends)
	backends = []string{"v5", "v5" + bare, "GET_LOCK", "v6", "v6" + bare, "zk.Lock", "v7", "v7" + bare, "etcd", "v8", "v8" + bare}
)

// sustained is a load in which each waiter locks again and again.
func sustained(name string, processes, waiters int, locks ...[]string) Workload {
	return Workload{
		Name: name, Kind: worker.Sustained, Processes: processes, Waiters: waiters, Lasts: 800 * time.Millisecond, Locks: slices.Concat(locks...),
	}
}

// longer runs for many turns of each process: a turn lasts up to 100 ms, and shares are even only over several.
func longer(w Workload) Workload {
	w.Lasts = time.Duration(w.Processes) * 150 * time.Millisecond
	return w
}

func processes8() Workload  { return longer(sustained("processes-8", 8, 64, bounds, own)) }
func processes32() Workload { return longer(sustained("32x4", 32, 128, bounds, own)) }

// half is the same load on a machine with half the processor time.
func half(w Workload) Workload {
	w.Name, w.Half = w.Name+"-half", true
	return w
}

// burst is a load in which all waiters of two processes lock at the same moment, once.
func burst(name string, waiters, times int, locks ...[]string) Workload {
	return Workload{Name: name, Kind: worker.Burst, Processes: 2, Waiters: waiters, Times: times, Locks: slices.Concat(locks...)}
}

// Plan is what make bench runs. It leaves out rows that are slow and teach nothing there.
func Plan() []Workload {
	plan := slices.Concat([]Workload{
		{
			Name: "uncontended", Times: 3, Kind: worker.Uncontended, Processes: 1, Waiters: 1, Lasts: 250 * time.Millisecond,
			Locks: slices.Concat([]string{"ping", "bare"}, own, quick, redlock),
		},
		burst("burst", 666, 3, bounds, own, quick, queued, []string{"redisson-fair", "redsync5"}, redlock),
		burst("burst-4000", 4000, 2, bounds, own),
		sustained("sustained", 2, 64, bounds, own, quick, queued, redlock),
		processes8(),
		processes32(),
		sustained("8x1", 8, 8, bounds, own),
		sustained("32x1", 32, 32, bounds, own),
		{
			Name: "hand-over", Kind: worker.HandOver, Processes: 2, Waiters: 2, Count: 100, Lasts: 800 * time.Millisecond,
			Locks: slices.Concat(own, []string{"bare"}, quick, redlock),
		},
		{Name: "http", Kind: HTTP, Processes: 2, Waiters: 666, Count: 3, Locks: versions.DefaultNames()},
		{Name: "memory", Kind: worker.Memory, Processes: 2, Waiters: 10_000, Locks: []string{"local", "ours"}},
	}, special(), onBackends())
	for i := range plan {
		plan[i].Limit = max(plan[i].Limit, 6*time.Second) + plan[i].Lasts
	}
	return plan
}

// special are loads that differ from the others in one point.
func special() []Workload {
	two := sustained("turns", 2, 64, own)
	two.Times = 4
	keys := sustained("keys-10", 2, 64, bounds, own, []string{"rueidislock"})
	keys.Keys = 10
	hang := sustained("nodes-hang", 2, 64, redlock, []string{"redlock" + hanging})
	hang.Lasts = 2 * time.Second
	beside := sustained("beside-redisson", 3, 96, turns, own)
	beside.Beside, beside.Lasts = "redisson", 5*time.Second
	far := burst("rtt", 666, 1, bounds, own)
	farAlone := Workload{Name: "rtt-uncontended", Kind: worker.Uncontended, Processes: 1, Waiters: 1, Lasts: 500 * time.Millisecond}
	farAlone.Locks = slices.Concat([]string{"ping"}, own, []string{"redislock"})
	far.Delayed, farAlone.Delayed = true, true
	return []Workload{two, keys, hang, beside, farAlone, far, half(processes8()), half(processes32())}
}

// onBackends are the locks on other servers than Redis. A bare one serves hundreds of waiters slowly. The one with
// its queue is compared with how many it serves before the limit.
func onBackends() []Workload {
	alone := Workload{Name: "backends-uncontended", Kind: worker.Uncontended, Processes: 1, Waiters: 1, Lasts: 500 * time.Millisecond}
	redis := slices.Concat(own, []string{"bare"}, redlock, []string{"redlock" + bare})
	alone.Locks = slices.Concat(redis, backends)
	together := burst("backends-burst", 666, 1, bounds, redis, backends)
	together.Limit = 8 * time.Second
	lasting := slices.DeleteFunc(slices.Clone(backends), func(lock string) bool { return strings.HasSuffix(lock, bare) })
	return []Workload{alone, together, sustained("backends-sustained", 2, 64, bounds, own, redlock, lasting)}
}

// Round lists the rows of run number again (from 0) of repetition rep. Fast rows are measured Times times, because their runs are so short
// that one late wake-up by the scheduler shows. Slow rows are measured once in every second repetition.
func (w Workload) Round(rep, again int) []string {
	slow := []string{"redisson", "redisson-fair", "redislock", "redsync5", "redsync", "etcd", "etcd" + mutex, "zk.Lock", "GET_LOCK"}
	return slices.DeleteFunc(slices.Clone(w.Locks), func(lock string) bool {
		isSlow := slices.Contains(slow, lock) || strings.HasSuffix(lock, bare) || w.Beside != ""
		return w.Name != "uncontended" && isSlow && (again > 0 || rep%2 == 1)
	})
}

// Only keeps the workloads and the locks that are named; an empty list keeps all. A lock is also added to the workloads that do not have it
// in the plan, if it can run there.
func Only(plan []Workload, workloads, locks []string) []Workload {
	var kept []Workload
	for _, w := range plan {
		if len(workloads) > 0 && !slices.Contains(workloads, w.Name) {
			continue
		}
		if len(locks) > 0 {
			w.Locks = slices.DeleteFunc(slices.Clone(locks), func(lock string) bool {
				return !slices.Contains(w.Locks, lock) && (w.Kind == HTTP || w.Kind == worker.Memory || !slices.Contains(named, lock))
			})
		}
		kept = append(kept, w)
	}
	return kept
}

// onNodes reports whether a lock is kept on five nodes.
func onNodes(lock string) bool {
	return slices.Contains([]string{"redlock", "redsync5"}, strings.TrimSuffix(strings.TrimSuffix(lock, hanging), bare))
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
		locks = append(locks, strings.TrimSuffix(lock, hanging))
	}
	if w.Beside != "" {
		locks[0] = w.Beside
	}
	return loads, locks
}
