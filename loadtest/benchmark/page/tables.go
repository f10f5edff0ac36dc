package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/internal/marked"
	"locklab/lab/report/benchfile"
	"locklab/versions"
)

// section is the table of one workload.
type section struct {
	workload string
	row      string // what its rows are; "": locks
	columns  []Column
}

// Series is one table of several workloads, which differ in a number: the first column has it.
type Series struct {
	First    string // the name of the first column
	Workload string // the names of the workloads begin with it; the number follows
	Numbers  []int
	Columns  []Column
}

// Column has a cell for the runs of each row; all are those of the other rows, too.
type Column struct {
	name string
	cell func(all, row benchfile.Runs) string
}

var (
	total    = Spread("ms min / **med** / max", benchfile.Seconds, 1e3)
	perSec   = Spread("per second min / **med** / max", benchfile.Rate, 1)
	latency  = Spread("µs, min / **med** / max of the runs' medians", benchfile.WaitP50, 1)
	waits    = Column{"wait ms p50 / p99 / max", waitsOf}
	fairness = []Column{
		Median("Jain, waiters", benchfile.Jain), Median("Jain, processes", benchfile.JainProcesses), {"shares, least even run", sharesOf},
	}
	cost = []Column{
		Median("commands", benchfile.Commands), Median("reads", benchfile.Reads),
		Median("µs CPU servers", benchfile.ServerCPU), Median("µs CPU clients", benchfile.ClientCPU),
	}
	slowest     = Median("µs p99", benchfile.WaitP99)
	backendCost = []Column{Median("commands and requests", benchfile.Commands), cost[2], cost[3]}

	alone = slices.Concat([]Column{latency, Against("× PING", "ping", benchfile.WaitP50), perSec}, cost)
	burst = slices.Concat([]Column{
		total, Against("× local", "local", benchfile.Seconds), Against("× limit", "limit", benchfile.Seconds), waits,
	}, cost)
	throughput = []Column{perSec, Against("of limit", "limit", benchfile.Rate), Against("of local", "local", benchfile.Rate)}
	sustained  = slices.Concat(throughput, fairness, []Column{waits}, cost)
)

// sections of the page, in their order.
var sections = []section{
	{workload: "uncontended", columns: alone},
	{workload: "burst", columns: burst},
	{workload: "sustained", columns: sustained},
	{workload: "turns", columns: slices.Concat([]Column{perSec}, fairness)},
	{workload: "burst-4000", columns: burst},
	{workload: "keys-10", columns: sustained},
	{workload: "processes-8", columns: sustained},
	{workload: "32x4", columns: sustained},
	{workload: "processes-8-half", columns: sustained},
	{workload: "32x4-half", columns: sustained},
	{workload: "8x1", columns: sustained},
	{workload: "32x1", columns: sustained},
	{workload: "hand-over", columns: slices.Concat([]Column{latency, Against("× rueidislock", "rueidislock", benchfile.WaitP50)}, cost)},
	{workload: "nodes-hang", columns: []Column{
		perSec, Against("of redlock", "redlock", benchfile.Rate), Against("of redsync5", "redsync5", benchfile.Rate), fairness[0], waits,
	}},
	{workload: "beside-redisson", columns: []Column{
		perSec, Median("ours per second", ourRate), Median("Redisson per second", redissonsRate),
		Median("Redisson's share of turns", redissonsTurns), fairness[0], waits,
	}},
	{workload: "rtt-uncontended", columns: alone},
	{workload: "rtt", columns: burst},
	{workload: "http", row: "version", columns: []Column{
		{"lock", lockOf}, total, Against("× v1", "v1", benchfile.Seconds), Against("× v2", "v2", benchfile.Seconds),
	}},
	{workload: "backends-uncontended", columns: slices.Concat(
		[]Column{latency, Against("× ours", "ours", benchfile.WaitP50), slowest}, backendCost)},
	{workload: "backends-burst", columns: slices.Concat([]Column{total, Against("× ours", "ours", benchfile.Seconds), waits}, backendCost)},
	{workload: "backends-sustained", columns: slices.Concat(throughput, fairness, []Column{waits}, backendCost)},
	{workload: "memory", columns: []Column{Median("bytes per waiter", benchfile.PerWaiter), total, cost[0]}},
}

// table has the rows that were measured.
func (s section) table(all benchfile.Runs) string {
	rows, notes := measured(all, s.workload, nil, s.columns)
	return marked.Table(1, header([]string{cmp.Or(s.row, "lock")}, s.columns), rows) + notes
}

// Table has the rows that were measured, those of one number after those of the other.
func (s Series) Table(all benchfile.Runs) string {
	var rows [][]string
	notes := ""
	for _, n := range s.Numbers {
		more, failed := measured(all, s.Workload+strconv.Itoa(n), []string{strconv.Itoa(n)}, s.Columns)
		rows, notes = append(rows, more...), notes+failed
	}
	return marked.Table(2, header([]string{s.First, "lock"}, s.Columns), rows) + notes
}

func header(first []string, columns []Column) (names []string) {
	for _, c := range columns {
		first = append(first, c.name)
	}
	return append(first, "failed", "lost", "runs")
}

// measured makes the rows of a workload that were measured, and notes on those that failed. Each row begins with first and the lock.
func measured(all benchfile.Runs, workload string, first []string, columns []Column) (rows [][]string, notes string) {
	for _, lock := range order {
		row := all.Row(workload, lock)
		if len(row) == 0 {
			continue
		}
		cells := append(slices.Clone(first), lock)
		for _, c := range columns {
			cells = append(cells, c.cell(all, row))
		}
		failed, lost := failures(row)
		rows = append(rows, append(cells, strconv.Itoa(failed), strconv.Itoa(lost), strconv.Itoa(len(row))))
		if bad := slices.DeleteFunc(slices.Clone(row), benchfile.Run.Clean); len(bad) > 0 {
			message := strings.Join(strings.Fields(bad[len(bad)-1].Error), " ")
			who := strings.Join(append(slices.Clone(first), lock), " ")
			notes += fmt.Sprintf("\n- **%s failed in %d of %d runs**: `%s`\n", who, len(bad), len(row), strings.ReplaceAll(message, "`", "'"))
		}
	}
	return rows, notes
}

// failures of all runs of a row together.
func failures(row benchfile.Runs) (failed, lost int) {
	for _, r := range row {
		failed, lost = failed+r.Failed, lost+r.Lost
	}
	return failed, lost
}

// Spread is a column of the least, the median and the largest figure of a row, each times unit.
func Spread(name string, of benchfile.Figure, unit float64) Column {
	return Column{name, func(_, row benchfile.Runs) string {
		sample := row.Figures(of)
		least, med, most := benchfile.Quantile(sample, 0), benchfile.Median(sample), benchfile.Quantile(sample, 1)
		return fmt.Sprintf("%s / **%s** / %s", benchfile.Digits(least*unit), benchfile.Digits(med*unit), benchfile.Digits(most*unit))
	}}
}

// Median is a column of medians. Runs that were not clean count, too.
func Median(name string, of benchfile.Figure) Column {
	return Column{name, func(_, row benchfile.Runs) string { return benchfile.Digits(benchfile.Median(row.Figures(of))) }}
}

// Against is a column of ratios to another row of the same workload, where both have clean runs in the same repetition.
func Against(name, other string, of benchfile.Figure) Column {
	return Column{name, func(all, row benchfile.Runs) string {
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
