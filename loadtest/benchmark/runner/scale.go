package runner

import (
	"strconv"
	"time"

	"locklab/loadtest/benchmark/worker"
)

// Names of the workloads of [Scale] begin with these; a number follows.
const (
	ScaleBurst     = "scale-burst-"     // processes, 666 waiters in all
	ScaleSustained = "scale-sustained-" // processes, 128 waiters in all
	ScaleOne       = "scale-one-"       // processes with one waiter each
	ScaleKeys      = "scale-keys-"      // keys, 4 processes with 8 waiters for each key
	ScaleAlone     = "scale-alone-"     // keys with one waiter each, all in one process
)

// The numbers of the workloads of [Scale].
var (
	ScaleProcesses = []int{2, 4, 8, 16, 32}
	ScaleKeyCounts = []int{1, 4, 16, 64}
	ScaleAlones    = []int{1, 64}
)

// Sizes of the workloads of [Scale].
const (
	ScaleWaiters = 666 // of ScaleBurst, in all
	KeyProcesses = 4   // of ScaleKeys
	keyWaiters   = 8   // of each of them for each key, so that it can pass the lock on inside
)

// lasts is long enough for several turns of each process, and for some thousand sections where there are few processes.
func lasts(w Workload) time.Duration { return max(time.Second, longer(w).Lasts) }

// Scale is what make scale runs: the same loads with more and more processes, and with more and more keys. The reference of more processes
// is local. Of limit with its one goroutine, one run is up to seven times as fast as another.
func Scale() (plan []Workload) {
	others := []string{"redlock", "v7"}
	add := func(w Workload) {
		w.Limit = 10*time.Second + w.Lasts
		plan = append(plan, w)
	}
	for _, n := range ScaleProcesses {
		together := burst(ScaleBurst+strconv.Itoa(n), ScaleWaiters, 1, []string{"local"}, own, others)
		together.Processes = n
		add(together)
		lasting := sustained(ScaleSustained+strconv.Itoa(n), n, 128, []string{"local"}, own, others)
		lasting.Lasts = lasts(lasting)
		add(lasting)
		one := sustained(ScaleOne+strconv.Itoa(n), n, n, own, others)
		one.Lasts = lasts(one) * 2 / 3
		add(one)
	}
	for _, k := range ScaleKeyCounts {
		keys := sustained(ScaleKeys+strconv.Itoa(k), KeyProcesses, KeyProcesses*keyWaiters*k, []string{"limit"}, own)
		keys.Keys, keys.Lasts = k, time.Second
		add(keys)
	}
	for _, k := range ScaleAlones {
		alone := Workload{Name: ScaleAlone + strconv.Itoa(k), Kind: worker.Sustained, Processes: 1, Waiters: k, Keys: k, Locks: own}
		alone.Lasts = time.Second
		add(alone)
	}
	return plan
}
