package runner

import (
	"slices"
	"strings"
	"time"

	"locklab/loadtest/peers/wire"
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
	Limit     time.Duration // who waits longer has failed
	Delayed   bool          // through the emulated round trip
	Times     int           // runs of a fast row in one repetition; 0: one
	Locks     []string
}

// Locks in the order of the page.
var (
	bounds = []string{"limit", "local"}
	own    = []string{"ours"}
	peers  = []string{"rueidislock", "redsync", "redislock", "redisson", "redisson-fair", "etcd"}
	five   = []string{"redlock", "redsync5"}
	others = []string{"redsync-10ms", "redislock-100ms", "rueidislock-3keys"} // other configurations, for the long form
)

func list(parts ...[]string) []string { return slices.Concat(parts...) }

// Short is what make bench runs. It leaves out rows that are slow and teach nothing there.
func Short() []Workload {
	const limit = 6 * time.Second
	quick := []string{"rueidislock", "redsync", "redislock", "redisson", "etcd"}
	return []Workload{
		{Name: "uncontended", Times: 3, Kind: wire.Uncontended, Processes: 1, Waiters: 1, Lasts: 250 * time.Millisecond, Limit: limit, Locks: list([]string{"ping"}, own, quick, []string{"redlock"})},
		{Name: "burst", Times: 3, Kind: wire.Burst, Processes: 2, Waiters: 666, Limit: limit, Locks: list(bounds, own, peers, five)},
		{Name: "sustained", Kind: wire.Sustained, Processes: 2, Waiters: 64, Lasts: 800 * time.Millisecond, Limit: limit, Locks: list(bounds, own, quick, []string{"redlock"})},
		{Name: "burst-4000", Times: 2, Kind: wire.Burst, Processes: 2, Waiters: 4000, Limit: limit, Locks: list(bounds, own)},
		{Name: "keys-10", Kind: wire.Sustained, Processes: 2, Waiters: 64, Keys: 10, Lasts: 800 * time.Millisecond, Limit: limit, Locks: list(bounds, own, []string{"rueidislock"})},
		{Name: "processes-8", Kind: wire.Sustained, Processes: 8, Waiters: 64, Lasts: 800 * time.Millisecond, Limit: limit, Locks: list(bounds, own)},
		{Name: "hand-over", Kind: wire.HandOver, Processes: 2, Waiters: 2, Count: 100, Lasts: 800 * time.Millisecond, Limit: limit, Locks: list(own, quick, []string{"redlock"})},
		{Name: "rtt", Kind: wire.Burst, Processes: 2, Waiters: 666, Limit: limit, Delayed: true, Locks: list(bounds, own)},
		{Name: "http", Kind: HTTP, Processes: 2, Waiters: 666, Count: 3, Limit: limit, Locks: versions.Names()},
		{Name: "memory", Kind: wire.Memory, Processes: 2, Waiters: 10_000, Limit: limit, Locks: list([]string{"local"}, own)},
	}
}

// Round lists the rows of run number again (from 0) of repetition rep: fast rows, whose runs are short enough for
// one wrong turn of the scheduler to show, are measured Times times.
func (w Workload) Round(rep, again int, every bool) []string {
	return slices.DeleteFunc(slices.Clone(w.Locks), func(lock string) bool {
		return w.slow(lock) && (again > 0 || rep%2 == 1 && !every)
	})
}

// slow reports whether a lock is so slow under w that the short form measures it in every second repetition only.
func (w Workload) slow(lock string) bool {
	return w.Name != "uncontended" && slices.Contains([]string{"redisson", "redisson-fair", "redislock", "redsync5", "redsync", "naive", "etcd"}, lock)
}

// Long adds rows and time.
func Long() []Workload {
	plan := Short()
	all := list([]string{"ping"}, bounds, own, []string{"naive"}, peers, five, others)
	for i := range plan {
		w := &plan[i]
		w.Limit, w.Count, w.Lasts = 60*time.Second, 5*w.Count, 5*w.Lasts
		switch w.Name {
		case "uncontended", "hand-over":
			w.Locks = all
		case "rtt":
			w.Locks = list(bounds, own, []string{"rueidislock", "redsync", "redisson"})
		case "http": // all versions are in it
		case "memory":
			w.Locks = []string{"local", "ours", "rueidislock", "redsync"}
		default:
			w.Locks = all
		}
		w.Locks = slices.DeleteFunc(slices.Clone(w.Locks), func(lock string) bool { return !w.fits(lock) })
	}
	return plan
}

// Only keeps the workloads and the locks that are named; an empty list keeps all. A lock that is named is
// added to every workload it was not planned for.
func Only(plan []Workload, workloads, locks []string) []Workload {
	var kept []Workload
	for _, w := range plan {
		if len(workloads) > 0 && !slices.Contains(workloads, w.Name) {
			continue
		}
		if len(locks) > 0 {
			w.Locks = slices.DeleteFunc(slices.Clone(locks), func(lock string) bool { return !w.fits(lock) })
		}
		kept = append(kept, w)
	}
	return kept
}

// fits reports whether a lock means anything under w.
func (w Workload) fits(lock string) bool {
	if w.Kind == HTTP || isVersion(lock) {
		return w.Kind == HTTP && isVersion(lock)
	}
	switch lock {
	case "ping":
		return w.Kind == wire.Uncontended
	case "limit":
		return w.Kind == wire.Burst || w.Kind == wire.Sustained
	case "local":
		return w.Kind != wire.HandOver && w.Kind != wire.Uncontended
	}
	return w.Kind != wire.Memory || !strings.HasPrefix(lock, "redisson")
}

// split says how many processes run lock under w, and what each does.
func (w Workload) split(lock string) []wire.Load {
	keys := max(1, w.Keys)
	processes, waiters, each := w.Processes, w.Waiters, 1
	switch lock {
	case "limit": // for each key one goroutine, which does everybody's sections
		processes, waiters, each = 1, keys, w.Waiters/keys
	case "local":
		processes = 1
	}
	loads := make([]wire.Load, processes)
	for i := range loads {
		share := waiters / processes
		if i < waiters%processes {
			share++
		}
		loads[i] = wire.Load{
			Kind: w.Kind, Waiters: share, Each: each, Keys: keys,
			Millis: int(w.Lasts.Milliseconds()), Limit: int(w.Limit.Milliseconds()),
		}
	}
	return loads
}
