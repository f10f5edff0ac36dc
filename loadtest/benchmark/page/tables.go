package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/internal/benchfile"
	"locklab/internal/marked"
	"locklab/versions"
)

// section is the table of one workload.
type section struct {
	workload string
	row      string // what its rows are; "": locks
	columns  []column
}

// column has a cell for the runs of each row; all are those of the other rows, too.
type column struct {
	name string
	cell func(all, row benchfile.Runs) string
}

var (
	total    = spread("ms min / **med** / max", benchfile.Seconds, 1e3)
	perSec   = spread("per second min / **med** / max", benchfile.Rate, 1)
	latency  = spread("µs, min / **med** / max of the runs' medians", benchfile.WaitP50, 1)
	waits    = column{"wait ms p50 / p99 / max", waitsOf}
	fairness = []column{
		median("Jain, waiters", benchfile.Jain), median("Jain, processes", benchfile.JainProcesses), {"shares, least even run", sharesOf},
	}
	cost = []column{
		median("commands", benchfile.Commands), median("reads", benchfile.Reads),
		median("µs CPU servers", benchfile.ServerCPU), median("µs CPU clients", benchfile.ClientCPU),
	}
	slowest     = median("µs p99", benchfile.WaitP99)
	backendCost = []column{median("commands and requests", benchfile.Commands), cost[2], cost[3]}

	alone = slices.Concat([]column{latency, against("× PING", "ping", benchfile.WaitP50), perSec}, cost)
	burst = slices.Concat([]column{
		total, against("× local", "local", benchfile.Seconds), against("× limit", "limit", benchfile.Seconds), waits,
	}, cost)
	throughput = []column{perSec, against("of limit", "limit", benchfile.Rate), against("of local", "local", benchfile.Rate)}
	sustained  = slices.Concat(throughput, fairness, []column{waits}, cost)
)

// sections of the page, in their order.
var sections = []section{
	{workload: "uncontended", columns: alone},
	{workload: "burst", columns: burst},
	{workload: "sustained", columns: sustained},
	{workload: "turns", columns: slices.Concat([]column{perSec}, fairness)},
	{workload: "burst-4000", columns: burst},
	{workload: "keys-10", columns: sustained},
	{workload: "processes-8", columns: sustained},
	{workload: "32x4", columns: sustained},
	{workload: "processes-8-half", columns: sustained},
	{workload: "32x4-half", columns: sustained},
	{workload: "8x1", columns: sustained},
	{workload: "32x1", columns: sustained},
	{workload: "hand-over", columns: slices.Concat([]column{latency, against("× rueidislock", "rueidislock", benchfile.WaitP50)}, cost)},
	{workload: "nodes-hang", columns: []column{
		perSec, against("of redlock", "redlock", benchfile.Rate), against("of redsync5", "redsync5", benchfile.Rate), fairness[0], waits,
	}},
	{workload: "beside-redisson", columns: []column{
		perSec, median("ours per second", ourRate), median("Redisson per second", redissonsRate),
		median("Redisson's share of turns", redissonsTurns), fairness[0], waits,
	}},
	{workload: "rtt-uncontended", columns: alone},
	{workload: "rtt", columns: burst},
	{workload: "http", row: "version", columns: []column{
		{"lock", lockOf}, total, against("× v1", "v1", benchfile.Seconds), against("× v2", "v2", benchfile.Seconds),
	}},
	{workload: "backends-uncontended", columns: slices.Concat(
		[]column{latency, against("× ours", "ours", benchfile.WaitP50), slowest}, backendCost)},
	{workload: "backends-burst", columns: slices.Concat([]column{total, against("× ours", "ours", benchfile.Seconds), waits}, backendCost)},
	{workload: "backends-sustained", columns: slices.Concat(throughput, fairness, []column{waits}, backendCost)},
	{workload: "memory", columns: []column{median("bytes per waiter", benchfile.PerWaiter), total, cost[0]}},
}

// table has the rows that were measured.
func (s section) table(all benchfile.Runs) string {
	var notes strings.Builder
	var rows [][]string
	names := []string{cmp.Or(s.row, "lock")}
	for _, c := range s.columns {
		names = append(names, c.name)
	}
	for _, lock := range order {
		row := all.Row(s.workload, lock)
		if len(row) == 0 {
			continue
		}
		cells := []string{lock}
		for _, c := range s.columns {
			cells = append(cells, c.cell(all, row))
		}
		failed, lost := failures(row)
		rows = append(rows, append(cells, strconv.Itoa(failed), strconv.Itoa(lost), strconv.Itoa(len(row))))
		if bad := slices.DeleteFunc(slices.Clone(row), benchfile.Run.Clean); len(bad) > 0 {
			message := strings.Join(strings.Fields(bad[len(bad)-1].Error), " ")
			fmt.Fprintf(&notes, "\n- **%s failed in %d of %d runs**: `%s`\n", lock, len(bad), len(row), strings.ReplaceAll(message, "`", "'"))
		}
	}
	return marked.Table(1, append(names, "failed", "lost", "runs"), rows) + notes.String()
}

// failures of all runs of a row together.
func failures(row benchfile.Runs) (failed, lost int) {
	for _, r := range row {
		failed, lost = failed+r.Failed, lost+r.Lost
	}
	return failed, lost
}

func spread(name string, of benchfile.Figure, unit float64) column {
	return column{name, func(_, row benchfile.Runs) string {
		sample := row.Figures(of)
		least, med, most := benchfile.Quantile(sample, 0), benchfile.Median(sample), benchfile.Quantile(sample, 1)
		return fmt.Sprintf("%s / **%s** / %s", benchfile.Digits(least*unit), benchfile.Digits(med*unit), benchfile.Digits(most*unit))
	}}
}

func median(name string, of benchfile.Figure) column {
	return column{name, func(_, row benchfile.Runs) string { return benchfile.Digits(benchfile.Median(row.Figures(of))) }}
}

// against is the ratio to another row, where both have clean runs in the same repetition.
func against(name, other string, of benchfile.Figure) column {
	return column{name, func(all, row benchfile.Runs) string {
		if r, ok := all.Ratio(row[0].Workload, row[0].Lock, other, of); ok {
			return benchfile.Digits(r)
		}
		return "–"
	}}
}

func waitsOf(_, row benchfile.Runs) string {
	var cells []string
	for _, of := range []benchfile.Figure{benchfile.WaitP50, benchfile.WaitP99, benchfile.WaitMax} {
		cells = append(cells, benchfile.Digits(benchfile.Median(row.Figures(of))/1e3))
	}
	return strings.Join(cells, " / ")
}

// sharesOf is the least and the largest share of a process, in the run in which they differ most.
func sharesOf(_, row benchfile.Runs) string {
	var least, most float64
	for _, r := range row {
		if low, high := benchfile.Quantile(r.Shares, 0), benchfile.Quantile(r.Shares, 1); high-low >= most-least {
			least, most = low, high
		}
	}
	return fmt.Sprintf("%.1f to %.1f %%", least*100, most*100)
}

// The figures beside Redisson, which is the first process. Each of its sections is a turn; ours has several sections in one.
func redissonsRate(r benchfile.Run) float64 { return r.Rate * r.Shares[0] }
func ourRate(r benchfile.Run) float64       { return r.Rate - redissonsRate(r) }
func redissonsTurns(r benchfile.Run) float64 {
	return r.Shares[0] * float64(r.Done) / float64(max(1, r.Turns))
}

// lockOf is the lock of a version of the app.
func lockOf(_, row benchfile.Runs) string {
	v, _ := versions.Find(row[0].Lock)
	return v.Title
}
