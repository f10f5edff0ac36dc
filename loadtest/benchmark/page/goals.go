package page

import (
	"fmt"
	"slices"
	"strconv"

	"locklab/lab/report/benchfile"
)

// noise is what two rows that do the same differ by on a shared machine. A goal that says "no more" allows it.
const noise = 1.05

// goal is one line of the first table.
type goal struct {
	text  string
	bound bound
	of    measure
}

// bound of a goal's figure.
type bound struct {
	least bool // the figure must be at least value; otherwise at most
	value float64
}

func atMost(value float64) bound  { return bound{false, value} }
func atLeast(value float64) bound { return bound{true, value} }

// measure takes a figure from the runs; false: it was not measured.
type measure struct {
	workload, lock string // of ours; a run of it that failed means that the goal is not met
	unit           string
	figure         func(all benchfile.Runs) (float64, bool)
}

// goals in the order of the page, which says below them what decides the figures.
var goals = slices.Concat(ofRedis, ofBackends())

var ofRedis = []goal{
	{"burst of 666, time: ours / local", atMost(1.1), ratio("burst", "ours", "local", benchfile.Seconds)},
	{"burst of 666, time: best library / ours", atLeast(2.5), bestToOurs("burst", benchfile.Seconds)},
	{"sustained 2 × 32, sections per second: ours / limit", atLeast(0.9), ratio("sustained", "ours", "limit", benchfile.Rate)},
	{"sustained 2 × 32, Jain's index over all 64 waiters", atLeast(0.99), own("sustained", benchfile.Jain)},
	{"burst of 666, commands per increment", atMost(2.3), own("burst", benchfile.Commands)},
	{"sustained 2 × 32, commands per increment", atMost(2.3), own("sustained", benchfile.Commands)},
	{"commands per increment: burst of 4000 / of 666", atMost(noise), across("burst-4000", "burst", benchfile.Commands)},
	{"commands per increment: 8 processes / 2", atMost(noise), across("processes-8", "sustained", benchfile.Commands)},
	{"hand-over between processes, median: ours / rueidislock", atMost(1), ratio("hand-over", "ours", "rueidislock", benchfile.WaitP50)},
	{"uncontended, round trips (reads of the server's sockets)", atMost(2.01), own("uncontended", benchfile.Reads)},
	{"uncontended, server commands of lock and unlock", atMost(9.05), own("uncontended", benchfile.Commands)},
	{"uncontended, median time of lock and unlock: ours / redsync", atMost(1.3), ratio("uncontended", "ours", "redsync", benchfile.WaitP50)},
	{"uncontended, mean time of lock and unlock: ours / redislock", atMost(1.3), ratio("uncontended", "ours", "redislock", meanTime)},
	{"uncontended at 1 ms round trip, mean time: ours / redislock", atMost(1.02), ratio("rtt-uncontended", "ours", "redislock", meanTime)},
	{"burst of 666 at 1 ms round trip, time: ours / local", atMost(1.2), ratio("rtt", "ours", "local", benchfile.Seconds)},
	{"10 000 waiters on one key, bytes per waiter; all served", atMost(4096), own("memory", benchfile.PerWaiter)},
	{"10 keys, sections per second: ours / limit", atLeast(0.75), ratio("keys-10", "ours", "limit", benchfile.Rate)},
	{"8 × 8, Jain's index over all waiters", atLeast(0.97), own("processes-8", benchfile.Jain)},
	{"32 × 4, Jain's index over all waiters", atLeast(0.95), own("32x4", benchfile.Jain)},
	{"8 × 8, half the processor time, Jain's index over all waiters", atLeast(0.97), own("processes-8-half", benchfile.Jain)},
	{"32 × 4, half the processor time, Jain's index over all waiters", atLeast(0.95), own("32x4-half", benchfile.Jain)},
	{"v4, two of five nodes hanging / healthy, per second", atLeast(0.5), ratio("nodes-hang", "redlock-hang", "redlock", benchfile.Rate)},
	{"over HTTP, burst of 666, time: v3 / v2", atMost(1.3), ratio("http", "v3", "v2", benchfile.Seconds)},
	{"burst of 666, time: v4 over five nodes / v3", atMost(2), ratio("backends-burst", "redlock", "ours", benchfile.Seconds)},
}

// ofBackends are the same three goals for the lock on each server that is not Redis.
func ofBackends() (all []goal) {
	for _, v := range []string{"v5", "v6", "v7", "v8"} {
		fair := medianOf("backends-sustained", v, benchfile.JainProcesses)
		all = append(all,
			goal{"burst of 666, time: " + v + " / v3", atMost(1.5), ratio("backends-burst", v, "ours", benchfile.Seconds)},
			goal{"burst of 666, sections per second: " + v + " / its bare form", atLeast(10), toBare(v)},
			goal{"sustained 2 × 32, Jain's index over the processes: " + v, atLeast(0.99), fair},
		)
	}
	return all
}

// toBare compares a burst with that of the same lock without its queue. A bare lock often does not serve all waiters before the limit:
// what it served counts.
func toBare(version string) measure {
	return measure{"backends-burst", version, " ×", func(all benchfile.Runs) (float64, bool) {
		var ratios []float64
		for _, x := range all.Row("backends-burst", version) {
			for _, y := range all.Row("backends-burst", version+"-bare") {
				if x.Rep == y.Rep && x.Clean() && y.Rate > 0 {
					ratios = append(ratios, x.Rate/y.Rate)
				}
			}
		}
		return benchfile.Median(ratios), len(ratios) > 0
	}}
}

// meanTime is that of a pair of lock and unlock: one goroutine does nothing else.
func meanTime(r benchfile.Run) float64 { return r.Seconds / float64(max(1, r.Done)) }

// ratio is that of two rows of a workload; a is ours.
func ratio(workload, a, b string, of benchfile.Figure) measure {
	return measure{workload, a, " ×", func(all benchfile.Runs) (float64, bool) { return all.Ratio(workload, a, b, of) }}
}

// medianOf is that of a lock.
func medianOf(workload, lock string, of benchfile.Figure) measure {
	return measure{workload, lock, "", func(all benchfile.Runs) (float64, bool) { return all.Median(workload, lock, of) }}
}

// own is our median.
func own(workload string, of benchfile.Figure) measure { return medianOf(workload, "ours", of) }

// bestToOurs compares the library with the least median with ours.
func bestToOurs(workload string, of benchfile.Figure) measure {
	return measure{workload, "ours", " ×", func(all benchfile.Runs) (float64, bool) {
		return all.Ratio(workload, best(all, workload, of), "ours", of)
	}}
}

// best is the library with the least median; "": none was clean.
func best(all benchfile.Runs, workload string, of benchfile.Figure) string {
	best, least := "", 0.0
	for _, lock := range libraries {
		if m, ok := all.Median(workload, lock, of); ok && (best == "" || m < least) {
			best, least = lock, m
		}
	}
	return best
}

// across compares our medians of two workloads.
func across(a, b string, of benchfile.Figure) measure {
	return measure{a, "ours", " ×", func(all benchfile.Runs) (float64, bool) {
		x, there := all.Median(a, "ours", of)
		y, too := all.Median(b, "ours", of)
		return x / max(y, 1e-9), there && too
	}}
}

// notMeasured is in the last column of a goal without a figure.
const notMeasured = "not measured"

// judged is a goal as the page prints it.
type judged struct{ Goal, Bound, Measured, Met string }

// judge compares g with the figures. A goal is not met when a waiter was not served or an update was lost.
func (g goal) judge(all benchfile.Runs) judged {
	sign := map[bool]string{false: "≤", true: "≥"}[g.bound.least]
	j := judged{g.text, fmt.Sprintf("%s %s%s", sign, benchfile.Digits(g.bound.value), g.of.unit), "–", notMeasured}
	if value, ok := g.of.figure(all); ok {
		j.Measured, j.Met = benchfile.Digits(value)+g.of.unit, "no"
		if value == g.bound.value || (value > g.bound.value) == g.bound.least {
			j.Met = "yes"
		} else if benchfile.Digits(value) == benchfile.Digits(g.bound.value) { // the difference is in the next digit
			j.Measured = strconv.FormatFloat(value, 'f', 3, 64) + g.of.unit
		}
	}
	if failed, lost := failures(all.Row(g.of.workload, g.of.lock)); failed+lost > 0 {
		j.Met = fmt.Sprintf("no: %d failed, %d lost", failed, lost)
	}
	return j
}
