// Package page makes the tables of docs/benchmark.md from saved runs.
package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"locklab/internal/marked"
	"locklab/lab/report/benchfile"
	"locklab/versions"
)

// libraries are the rows that are not ours.
var libraries = []string{
	"rueidislock", "redsync", "redislock", "redsync5", "redsync5-hang", "redisson", "redisson-fair", "GET_LOCK", "zk.Lock", "etcd",
}

// order of the rows.
var order = append([]string{
	"ping", "limit", "local", "ours-1", "ours-4", "ours-16", "ours", "bare", "redlock", "redlock-bare", "redlock-hang",
	"rueidislock", "rueidislock-mutex", "redsync", "redsync-mutex", "redislock", "redislock-mutex", "redsync5", "redsync5-hang",
	"redisson", "redisson-fair",
	"v5", "v5-bare", "GET_LOCK", "v6", "v6-bare", "zk.Lock", "v7", "v7-bare", "etcd", "etcd-mutex", "v8", "v8-bare",
}, versions.DefaultNames()...)

// Blocks are the tables of docs/benchmark.md by their names. Runs of some workloads have only the tables of these, which say so.
func Blocks(saved benchfile.Saved) map[string]string {
	if saved.Header.Form == benchfile.QuickLook {
		return some(saved)
	}
	var rows [][]string
	met, measured := 0, 0
	for _, g := range goals {
		j := g.judge(saved.Runs)
		rows = append(rows, []string{j.Goal, j.Bound, j.Measured, j.Met})
		if j.Met != notMeasured {
			measured++
		}
		if j.Met == "yes" {
			met++
		}
	}
	blocks := Measurements(saved.Runs)
	blocks["goals"] = marked.Table(1, []string{"goal", "bound", "measured", "met"}, rows)
	blocks["measured"] = Caption(saved, []string{"goals met", fmt.Sprintf("%d of %d measured", met, measured)},
		[]string{"updates lost by our locks", strconv.Itoa(lostByOurs(saved.Runs))})
	return blocks
}

// some are the tables of the workloads that were measured.
func some(saved benchfile.Saved) map[string]string {
	blocks := Measurements(saved.Runs)
	measured := func(workload string) bool {
		return slices.ContainsFunc(saved.Runs, func(r benchfile.Run) bool { return r.Workload == workload })
	}
	maps.DeleteFunc(blocks, func(workload, _ string) bool { return !measured(workload) })
	h := saved.Header
	for workload, table := range blocks {
		blocks[workload] = fmt.Sprintf("Measured apart from the rest of this page: %s, tree `%s`, %s.\n\n%s", h.Date, h.Stamp, h.Machine, table)
	}
	return blocks
}

// lostByOurs are the updates that our locks have lost. v1 and v2 are there to lose some, so theirs say nothing.
func lostByOurs(all benchfile.Runs) (lost int) {
	for _, r := range all {
		if !r.MayLose() && !slices.Contains(libraries, strings.TrimSuffix(r.Lock, "-mutex")) {
			lost += r.Lost
		}
	}
	return lost
}

// Measurements are the tables of the workloads by their names.
func Measurements(all benchfile.Runs) map[string]string {
	tables := map[string]string{}
	for _, s := range sections {
		tables[s.workload] = s.table(all)
	}
	return tables
}

// Caption says when, where and with what the runs were measured, and has further lines.
func Caption(saved benchfile.Saved, more ...[]string) string {
	h := saved.Header
	var built []string
	for _, name := range slices.Sorted(maps.Keys(h.Versions)) {
		built = append(built, name+" "+h.Versions[name])
	}
	ping := benchfile.Digits(h.RoundTrip) + " µs"
	if h.Emulated > 0 {
		ping += fmt.Sprintf("; %s µs through the emulated round trip", benchfile.Digits(h.Emulated))
	}
	rows := [][]string{
		{"runs", fmt.Sprintf("%d: %s, repetitions: %d", len(saved.Runs), h.Form, h.Reps)},
		{"tree", "`" + h.Stamp + "`"},
		{"machine", h.Machine + "; clients and servers share it"},
		{"versions", strings.Join(built, ", ")},
		{"PING, median", ping},
	}
	rows = append(rows, more...)
	for _, name := range slices.Sorted(maps.Keys(h.Missing)) {
		rows = append(rows, []string{"not measured: " + name, marked.Cell(h.Missing[name])})
	}
	return marked.Table(2, []string{"measured", h.Date}, rows)
}
