package page

import (
	"fmt"

	"locklab/loadtest/peers/record"
)

// noise is what two rows that do the same differ by on a shared machine. A goal that says "no more" or "not slower" grants it.
const noise = 1.05

// goal is one line of the first table.
type goal struct {
	text     string
	workload string // whose failures of ours spoil it
	lock     string // "": ours
	bound    float64
	least    bool // the figure must be at least bound; otherwise at most
	unit     string
	figure   func(all rows) (float64, bool)
}

func ratio(workload, a, b string, of func(record.Run) float64) func(rows) (float64, bool) {
	return func(all rows) (float64, bool) { return all.ratio(workload, a, b, of) }
}

func median(workload string, of func(record.Run) float64) func(rows) (float64, bool) {
	return func(all rows) (float64, bool) { return all.med(workload, "ours", of) }
}

// goals of issue 5, in its order.
var goals = []goal{
	{text: "burst of 666, time: ours / local", workload: "burst", bound: 1.15, unit: " ×", figure: ratio("burst", "ours", "local", seconds)},
	{text: "burst of 666, time: best library / ours", workload: "burst", bound: 2.5, least: true, unit: " ×", figure: bestToOurs("burst", seconds)},
	{text: "sustained 2 × 32, sections per second: ours / limit", workload: "sustained", bound: 0.9, least: true, unit: " ×", figure: ratio("sustained", "ours", "limit", rate)},
	{text: "sustained 2 × 32, Jain's index over all 64 waiters", workload: "sustained", bound: 0.99, least: true, figure: median("sustained", jain)},
	{text: "burst of 666, commands per increment", workload: "burst", bound: 2.3, figure: median("burst", commands)},
	{text: "sustained 2 × 32, commands per increment", workload: "sustained", bound: 2.3, figure: median("sustained", commands)},
	{text: "commands per increment: burst of 4000 / of 666", workload: "burst-4000", bound: noise, unit: " ×", figure: across("burst-4000", "burst", commands)},
	{text: "commands per increment: 8 processes / 2", workload: "processes-8", bound: noise, unit: " ×", figure: across("processes-8", "sustained", commands)},
	{text: "hand-over between processes, median: ours / rueidislock", workload: "hand-over", bound: 1.1, unit: " ×", figure: ratio("hand-over", "ours", "rueidislock", waitP50)},
	{text: "uncontended, round trips (reads of the server's sockets)", workload: "uncontended", bound: 2.01, figure: median("uncontended", reads)},
	{text: "uncontended, median time of lock and unlock: ours / fastest library", workload: "uncontended", bound: noise, unit: " ×", figure: oursToBest("uncontended", waitP50)},
	{text: "burst of 666 at 1 ms round trip, time: ours / local", workload: "rtt", bound: 1.2, unit: " ×", figure: ratio("rtt", "ours", "local", seconds)},
	{text: "10 000 waiters on one key, bytes per waiter; all served", workload: "memory", bound: 4096, figure: median("memory", perWaiter)},
	{text: "over HTTP, burst of 666, time: v3 / v1", workload: "http", lock: "v3", bound: 1.3, unit: " ×", figure: ratio("http", "v3", "v1", seconds)},
	{text: "burst of 666, time: v4 over five nodes / v3", workload: "burst", lock: "redlock", bound: 2, unit: " ×", figure: ratio("burst", "redlock", "ours", seconds)},
}

func bestToOurs(workload string, of func(record.Run) float64) func(rows) (float64, bool) {
	return func(all rows) (float64, bool) {
		best, ok := all.best(workload, of)
		if !ok {
			return 0, false
		}
		return all.ratio(workload, best, "ours", of)
	}
}

func oursToBest(workload string, of func(record.Run) float64) func(rows) (float64, bool) {
	return func(all rows) (float64, bool) {
		best, ok := all.best(workload, of)
		if !ok {
			return 0, false
		}
		return all.ratio(workload, "ours", best, of)
	}
}

// across compares our medians of two workloads.
func across(a, b string, of func(record.Run) float64) func(rows) (float64, bool) {
	return func(all rows) (float64, bool) {
		x, there := all.med(a, "ours", of)
		y, too := all.med(b, "ours", of)
		return x / max(y, 1e-9), there && too
	}
}

// judged is a goal as the page prints it.
type judged struct{ Goal, Bound, Measured, Met string }

// judge says what became of g. It is not met when somebody was not served or an update was lost.
func (g goal) judge(all rows) judged {
	sign := "≤"
	if g.least {
		sign = "≥"
	}
	j := judged{Goal: g.text, Bound: fmt.Sprintf("%s %s%s", sign, number(g.bound), g.unit), Measured: "–", Met: "not measured"}
	lock := g.lock
	if lock == "" {
		lock = "ours"
	}
	value, ok := g.figure(all)
	if ok {
		j.Measured, j.Met = number(value)+g.unit, "no"
		if !g.least && value <= g.bound || g.least && value >= g.bound {
			j.Met = "yes"
		}
	}
	if failed, lost := all.failures(g.workload, lock); failed+lost > 0 {
		j.Met = fmt.Sprintf("no: %d failed, %d lost", failed, lost)
	}
	return j
}
