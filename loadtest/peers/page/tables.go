package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/loadtest/peers/record"
	"locklab/loadtest/peers/stats"
	"locklab/versions"
)

// section is the table of one workload.
type section struct {
	workload string
	row      string // what its rows are; "": locks
	columns  []column
}

type column struct {
	name string
	cell func(all rows, row record.Key) string
}

var (
	total    = column{"ms min / **med** / max", spread(func(r record.Run) float64 { return r.Seconds * 1e3 })}
	perSec   = column{"per second min / **med** / max", spread(rate)}
	latency  = column{"µs, min / **med** / max of the runs' medians", spread(waitP50)}
	waits    = column{"wait ms p50 / p99 / max", waitsOf}
	fairness = []column{{"Jain, waiters", median(jain)}, {"Jain, processes", median(jainProcesses)}, {"shares, least even run", sharesOf}}
	cost     = []column{
		{"commands", median(commands)}, {"reads", median(reads)}, {"µs CPU servers", median(serverCPU)}, {"µs CPU clients", median(clientCPU)},
	}
	slowest     = column{"µs p99", median(waitP99)}
	backendCost = []column{{"commands and requests", median(commands)}, cost[2], cost[3]}

	burst      = slices.Concat([]column{total, against("× local", "local", seconds), against("× limit", "limit", seconds), waits}, cost)
	throughput = []column{perSec, against("of limit", "limit", rate), against("of local", "local", rate)}
	sustained  = slices.Concat(throughput, fairness, []column{waits}, cost)
)

// sections of the page, in their order.
var sections = []section{
	{workload: "uncontended", columns: slices.Concat([]column{latency, against("× PING", "ping", waitP50), perSec}, cost)},
	{workload: "burst", columns: burst},
	{workload: "sustained", columns: sustained},
	{workload: "turns", columns: slices.Concat([]column{perSec}, fairness)},
	{workload: "burst-4000", columns: burst},
	{workload: "keys-10", columns: sustained},
	{workload: "processes-8", columns: sustained},
	{workload: "32x4", columns: sustained},
	{workload: "8x1", columns: sustained},
	{workload: "32x1", columns: sustained},
	{workload: "hand-over", columns: slices.Concat([]column{latency, against("× rueidislock", "rueidislock", waitP50)}, cost)},
	{workload: "nodes-hang", columns: []column{
		perSec, against("of redlock", "redlock", rate), against("of redsync5", "redsync5", rate), fairness[0], waits,
	}},
	{workload: "beside-redisson", columns: []column{perSec, {"Redisson's share of turns", median(redissonsTurns)}, fairness[2], waits}},
	{workload: "rtt", columns: burst},
	{workload: "http", row: "version", columns: []column{
		{"lock", lockOf}, total, against("× v1", "v1", seconds), against("× v2", "v2", seconds),
	}},
	{workload: "backends-uncontended", columns: slices.Concat([]column{latency, against("× ours", "ours", waitP50), slowest}, backendCost)},
	{workload: "backends-burst", columns: slices.Concat([]column{total, against("× ours", "ours", seconds), waits}, backendCost)},
	{workload: "backends-sustained", columns: slices.Concat(throughput, fairness, []column{waits}, backendCost)},
	{workload: "memory", columns: []column{{"bytes per waiter", median(perWaiter)}, total, cost[0]}},
}

// table has the rows that were measured.
func (s section) table(all rows) string {
	var b, notes strings.Builder
	names, rule := []string{cmp.Or(s.row, "lock")}, []string{"---"}
	for _, c := range s.columns {
		names, rule = append(names, c.name), append(rule, "---:")
	}
	line(&b, append(names, "failed", "lost", "runs"))
	line(&b, append(rule, "---:", "---:", "---:"))
	for _, lock := range order {
		row := record.Key{Workload: s.workload, Lock: lock}
		runs := all[row]
		if len(runs) == 0 {
			continue
		}
		cells := []string{lock}
		for _, c := range s.columns {
			cells = append(cells, c.cell(all, row))
		}
		failed, lost := all.failures(row)
		line(&b, append(cells, strconv.Itoa(failed), strconv.Itoa(lost), strconv.Itoa(len(runs))))
		if bad := slices.DeleteFunc(slices.Clone(runs), clean); len(bad) > 0 {
			message := strings.Join(strings.Fields(bad[len(bad)-1].Error), " ")
			fmt.Fprintf(&notes, "\n- **%s failed in %d of %d runs**: `%s`\n", lock, len(bad), len(runs), strings.ReplaceAll(message, "`", "'"))
		}
	}
	return b.String() + notes.String()
}

func line(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func spread(of figure) func(rows, record.Key) string {
	return func(all rows, row record.Key) string {
		sample := figures(all[row], of)
		least, med, most := stats.Quantile(sample, 0), stats.Quantile(sample, 0.5), stats.Quantile(sample, 1)
		return fmt.Sprintf("%s / **%s** / %s", number(least), number(med), number(most))
	}
}

func median(of figure) func(rows, record.Key) string {
	return func(all rows, row record.Key) string { return number(stats.Quantile(figures(all[row], of), 0.5)) }
}

// against is the ratio to another row, where both have clean runs in the same repetition.
func against(name, other string, of figure) column {
	return column{name, func(all rows, row record.Key) string {
		if r, ok := all.ratio(row.Workload, row.Lock, other, of); ok {
			return number(r)
		}
		return "–"
	}}
}

func waitsOf(all rows, row record.Key) string {
	var cells []string
	for _, of := range []figure{waitP50, waitP99, waitMax} {
		cells = append(cells, number(stats.Quantile(figures(all[row], of), 0.5)/1e3))
	}
	return strings.Join(cells, " / ")
}

// sharesOf is the least and the largest share of a process, in the run in which they differ most.
func sharesOf(all rows, row record.Key) string {
	var least, most float64
	for _, r := range all[row] {
		if low, high := stats.Quantile(r.Shares, 0), stats.Quantile(r.Shares, 1); high-low >= most-least {
			least, most = low, high
		}
	}
	return fmt.Sprintf("%.1f to %.1f %%", least*100, most*100)
}

// lockOf is the lock of a version of the app.
func lockOf(_ rows, row record.Key) string {
	v, _ := versions.Find(row.Lock)
	return v.Title
}

// number has three significant digits.
func number(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
