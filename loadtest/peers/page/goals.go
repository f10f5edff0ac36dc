package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/loadtest/peers/record"
	"locklab/loadtest/peers/stats"
)

const (
	// noise is what two rows that do the same differ by on a shared machine. A goal that says "no more" allows it.
	noise = 1.05

	// queued8x1 is the sections per second of the workload 8x1 with the lock that had a queue between processes (tree 9897c5f). It had
	// 1,000 to 1,140 in the same minutes as the lock with the yield rule: docs/decisions/0014-the-yield-rule.md.
	queued8x1 = 1100
)

// goal is one line of the first table.
type goal struct {
	text   string
	bound  bound
	figure measure
	why    string // of the sentences that several goals share
}

// bound of a goal's figure.
type bound struct {
	least bool // the figure must be at least value; otherwise at most
	value float64
}

func atMost(value float64) bound  { return bound{false, value} }
func atLeast(value float64) bound { return bound{true, value} }

// measure takes a figure from the rows; false: it was not measured.
type measure struct {
	row  record.Key // of ours; a run of it that failed means that the goal is not met
	unit string
	of   func(all rows) (float64, bool)
}

// goals in the order of the page. Their sentences are in why.md.tmpl.
var goals = slices.Concat(ofRedis, ofBackends())

var ofRedis = []goal{
	{"burst of 666, time: ours / local", atMost(1.15), ratio("burst", "ours", "local", seconds), ""},
	{"burst of 666, time: best library / ours", atLeast(2.5), bestToOurs("burst", seconds), ""},
	{"sustained 2 × 32, sections per second: ours / limit", atLeast(0.9), ratio("sustained", "ours", "limit", rate), ""},
	{"sustained 2 × 32, Jain's index over all 64 waiters", atLeast(0.99), own("sustained", jain), ""},
	{"burst of 666, commands per increment", atMost(2.3), own("burst", commands), ""},
	{"sustained 2 × 32, commands per increment", atMost(2.3), own("sustained", commands), ""},
	{"commands per increment: burst of 4000 / of 666", atMost(noise), across("burst-4000", "burst", commands), ""},
	{"commands per increment: 8 processes / 2", atMost(noise), across("processes-8", "sustained", commands), ""},
	{"hand-over between processes, median: ours / rueidislock", atMost(1), ratio("hand-over", "ours", "rueidislock", waitP50), ""},
	{"uncontended, round trips (reads of the server's sockets)", atMost(2.01), own("uncontended", reads), ""},
	{"uncontended, server commands of lock and unlock", atMost(9.05), own("uncontended", commands), ""},
	{"uncontended, median time of lock and unlock: ours / redsync", atMost(1.3), ratio("uncontended", "ours", "redsync", waitP50), ""},
	{"uncontended, median time of lock and unlock: ours / redislock", atMost(1.1), ratio("uncontended", "ours", "redislock", waitP50), ""},
	{"burst of 666 at 1 ms round trip, time: ours / local", atMost(1.2), ratio("rtt", "ours", "local", seconds), ""},
	{"10 000 waiters on one key, bytes per waiter; all served", atMost(4096), own("memory", perWaiter), ""},
	{"10 keys, sections per second: ours / limit", atLeast(0.9), ratio("keys-10", "ours", "limit", rate), ""},
	{"8 × 8, Jain's index over all waiters", atLeast(0.99), own("processes-8", jain), ""},
	{"32 × 4, Jain's index over all waiters", atLeast(0.98), own("32x4", jain), ""},
	{"8 × 1, sections per second: against a queue between processes", atLeast(1.4), own("8x1", rate).dividedBy(queued8x1), ""},
	{"v4, two of five nodes hanging / healthy, sections per second", atLeast(0.5), ratio("nodes-hang", "redlock-hang", "redlock", rate), ""},
	{"over HTTP, burst of 666, time: v3 / v2", atMost(1.15), ratio("http", "v3", "v2", seconds), ""},
	{"burst of 666, time: v4 over five nodes / v3", atMost(2), ratio("burst", "redlock", "ours", seconds), ""},
}

// ofBackends are the same three goals for the lock on each server that is not Redis.
func ofBackends() (all []goal) {
	for _, v := range []string{"v5", "v6", "v7", "v8"} {
		fair := record.Key{Workload: "backends-sustained", Lock: v}
		all = append(all,
			goal{"burst of 666, time: " + v + " / v3", atMost(1.5), ratio("backends-burst", v, "ours", seconds), "backend / v3"},
			goal{"burst of 666, sections per second: " + v + " / its bare form", atLeast(10), toBare(v), "backend / bare"},
			goal{
				"sustained 2 × 32, Jain's index over the processes: " + v, atLeast(0.99),
				measure{fair, "", func(all rows) (float64, bool) { return all.med(fair, jainProcesses) }},
				"backend, Jain",
			},
		)
	}
	return all
}

// toBare compares a burst with that of the same lock without its cohort. A bare lock often does not serve all waiters before the limit:
// what it served counts.
func toBare(version string) measure {
	row := record.Key{Workload: "backends-burst", Lock: version}
	return measure{row, " ×", func(all rows) (float64, bool) {
		var ratios []float64
		for _, x := range all[row] {
			for _, y := range all[record.Key{Workload: row.Workload, Lock: version + "-bare"}] {
				if x.Rep == y.Rep && clean(x) && y.Rate > 0 {
					ratios = append(ratios, x.Rate/y.Rate)
				}
			}
		}
		return stats.Quantile(ratios, 0.5), len(ratios) > 0
	}}
}

// ratio is that of two rows of a workload; a is ours.
func ratio(workload, a, b string, of figure) measure {
	return measure{record.Key{Workload: workload, Lock: a}, " ×", func(all rows) (float64, bool) { return all.ratio(workload, a, b, of) }}
}

// own is our median.
func own(workload string, of figure) measure {
	row := record.Key{Workload: workload, Lock: "ours"}
	return measure{row, "", func(all rows) (float64, bool) { return all.med(row, of) }}
}

func bestToOurs(workload string, of figure) measure {
	row := record.Key{Workload: workload, Lock: "ours"}
	return measure{row, " ×", func(all rows) (float64, bool) { return all.ratio(workload, all.best(workload, of), "ours", of) }}
}

// across compares our medians of two workloads.
func across(a, b string, of figure) measure {
	x, y := own(a, of), own(b, of)
	return measure{x.row, " ×", func(all rows) (float64, bool) {
		of, there := x.of(all)
		to, too := y.of(all)
		return of / max(to, 1e-9), there && too
	}}
}

func (m measure) dividedBy(by float64) measure {
	return measure{m.row, " ×", func(all rows) (float64, bool) {
		x, ok := m.of(all)
		return x / by, ok
	}}
}

// judged is a goal as the page prints it.
type judged struct{ Goal, Bound, Measured, Met, Why string }

// judge compares g with the figures. A goal is not met when a waiter was not served or an update was lost.
func (g goal) judge(all rows) judged {
	sign := map[bool]string{false: "≤", true: "≥"}[g.bound.least]
	j := judged{Goal: g.text, Bound: fmt.Sprintf("%s %s%s", sign, number(g.bound.value), g.figure.unit), Measured: "–", Met: "not measured"}
	if value, ok := g.figure.of(all); ok {
		j.Measured, j.Met = number(value)+g.figure.unit, "no"
		if value == g.bound.value || (value > g.bound.value) == g.bound.least {
			j.Met = "yes"
		} else if number(value) == number(g.bound.value) { // the difference is in the next digit
			j.Measured = strconv.FormatFloat(value, 'f', 3, 64) + g.figure.unit
		}
	}
	if why := cmp.Or(text.Lookup(j.Met+": "+g.text), text.Lookup(j.Met+": "+g.why)); why != nil {
		var sentence strings.Builder
		_ = why.Execute(&sentence, j) // a sentence refers to nothing but j
		j.Why = sentence.String()
	}
	if failed, lost := all.failures(g.figure.row); failed+lost > 0 {
		j.Met = fmt.Sprintf("no: %d failed, %d lost", failed, lost)
	}
	return j
}
