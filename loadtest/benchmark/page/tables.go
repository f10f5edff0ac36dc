// Package page makes the tables of docs/benchmark.md and docs/scale.md from saved runs.
package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"locklab/internal/marked"
	"locklab/lab/report/benchfile"
	"locklab/loadtest/benchmark/runner"
)

// table shows one workload, or several whose names differ in a number at the end.
type table struct {
	name    string // of the workload; of several: how their names begin
	number  string // what the number counts; empty: one workload
	columns []column
}

// column has a cell for each row; all are the runs of the other rows, too.
type column struct {
	name string
	cell func(all, row benchfile.Runs) string
}

var (
	milliseconds = spread("ms min / **med** / max", func(r benchfile.Run) float64 { return r.Seconds * 1e3 })
	perSecond    = spread("per second min / **med** / max", benchfile.Rate)
	handOver     = spread("µs, min / **med** / max of the runs' medians", benchfile.WaitP50)
	waits        = column{"wait ms p50 / p99 / max", waitsOf}
	jain         = median("Jain", benchfile.Jain)
	commands     = median("commands", benchfile.Commands)
	requests     = median("commands and requests", benchfile.Commands)
	redis        = median("µs of Redis", benchfile.ServerCPU)

	alone     = []column{median("median µs", benchfile.WaitP50), perSecond, against("of ours", "ours", benchfile.Rate)}
	burst     = []column{milliseconds, against("× local", "local", benchfile.Seconds)}
	sustained = []column{perSecond, against("of local", "local", benchfile.Rate), jain, waits}
)

var tables = []table{
	{name: "uncontended", columns: with(alone, median("round trips to Redis", benchfile.Reads), commands)},
	{name: "burst", columns: with(burst, commands)},
	{name: "sustained", columns: with(sustained, commands)},
	{name: "keys-10", columns: with(sustained, commands)},
	{name: "hand-over", columns: []column{handOver, against("× rueidislock", "rueidislock", benchfile.WaitP50), commands}},
	{name: "beside-redisson", columns: []column{
		perSecond, median("ours per second", ourRate), median("Redisson per second", redissonsRate), waits,
	}},
	{name: "backends-uncontended", columns: with(alone, requests)},
	{name: "backends-burst", columns: with(burst, requests)},
	{name: "backends-sustained", columns: with(sustained, requests)},

	{name: "scale-burst-", number: "instances", columns: with(burst, commands)},
	{name: "scale-sustained-", number: "instances", columns: with(sustained, commands)},
	{name: "scale-one-", number: "instances", columns: []column{perSecond, waits, commands}},
	{name: "scale-keys-", number: "keys", columns: []column{perSecond, against("of limit", "limit", benchfile.Rate), waits, commands, redis}},
	{name: "scale-alone-", number: "keys", columns: []column{perSecond, commands, redis}},
}

func with(columns []column, more ...column) []column { return slices.Concat(columns, more) }

// Blocks are the tables that were measured, by their names on the page, and "measured": when, where and with what.
func Blocks(saved benchfile.Saved) map[string]string {
	blocks := map[string]string{"measured": caption(saved)}
	for _, t := range tables {
		if rows, notes := t.rows(saved.Runs); len(rows) > 0 {
			blocks[strings.TrimSuffix(t.name, "-")] = marked.Table(len(t.labels()), t.header(), rows) + notes
		}
	}
	return blocks
}

func (t table) labels() []string {
	if t.number == "" {
		return []string{"lock"}
	}
	return []string{t.number, "lock"}
}

func (t table) header() []string {
	names := t.labels()
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	return append(names, "runs")
}

// rows are those that were measured, in the order of the plans, and notes on those that failed.
func (t table) rows(all benchfile.Runs) (rows [][]string, notes string) {
	for _, w := range slices.Concat(runner.Plans["bench"], runner.Plans["scale"]) {
		number, found := strings.CutPrefix(w.Name, t.name)
		if !found || (t.number == "") != (number == "") {
			continue
		}
		for _, lock := range w.Locks {
			row := all.Row(w.Name, lock)
			if len(row) == 0 {
				continue
			}
			cells := []string{lock}
			if t.number != "" {
				cells = []string{number, lock}
			}
			notes += failures(strings.Join(cells, " "), row)
			for _, c := range t.columns {
				cells = append(cells, c.cell(all, row))
			}
			rows = append(rows, append(cells, strconv.Itoa(len(row))))
		}
	}
	return rows, notes
}

// failures is a note on the runs in which a waiter failed or an update was lost; empty: there are none.
func failures(name string, row benchfile.Runs) string {
	bad, failed, lost, message := 0, 0, 0, ""
	for _, r := range row {
		if !r.Clean() {
			bad, failed, lost, message = bad+1, failed+r.Failed, lost+r.Lost, r.Error
		}
	}
	if bad == 0 {
		return ""
	}
	message = strings.ReplaceAll(strings.Join(strings.Fields(message), " "), "`", "'")
	runs := fmt.Sprintf("%d of %d runs", bad, len(row))
	return fmt.Sprintf("\n- **%s failed in %s**, waiters failed: %d, updates lost: %d: `%s`\n", name, runs, failed, lost, message)
}

// spread is a column of the least, the median and the largest figure of a row.
func spread(name string, of benchfile.Figure) column {
	return column{name, func(_, row benchfile.Runs) string {
		sample := row.Figures(of)
		least, med, most := benchfile.Quantile(sample, 0), benchfile.Median(sample), benchfile.Quantile(sample, 1)
		return fmt.Sprintf("%s / **%s** / %s", benchfile.Digits(least), benchfile.Digits(med), benchfile.Digits(most))
	}}
}

// median is a column of medians. Runs that were not clean count, too.
func median(name string, of benchfile.Figure) column {
	return column{name, func(_, row benchfile.Runs) string { return benchfile.Digits(benchfile.Median(row.Figures(of))) }}
}

// against is a column of ratios to another row of the same workload, where both have clean runs in the same repetition.
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

// Beside Redisson, the first process is Redisson's.
func redissonsRate(r benchfile.Run) float64 { return r.Rate * r.Shares[0] }
func ourRate(r benchfile.Run) float64       { return r.Rate - redissonsRate(r) }

// caption says when, where and with what the runs were measured.
func caption(saved benchfile.Saved) string {
	h := saved.Header
	var built []string
	for _, name := range slices.Sorted(maps.Keys(h.Versions)) {
		built = append(built, name+" "+h.Versions[name])
	}
	rows := [][]string{
		{"runs", fmt.Sprintf("%d, repetitions: %d, tree `%s`", len(saved.Runs), h.Reps, h.Stamp)},
		{"machine", h.Machine + "; clients and servers share it"},
		{"versions", strings.Join(built, ", ")},
	}
	for _, name := range slices.Sorted(maps.Keys(h.Missing)) {
		rows = append(rows, []string{"not measured: " + name, marked.Cell(h.Missing[name])})
	}
	return marked.Table(2, []string{"measured", h.Date}, rows)
}
