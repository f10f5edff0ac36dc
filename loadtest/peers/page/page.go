package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"locklab/loadtest/peers/record"
	"locklab/loadtest/peers/stats"
	"locklab/versions"
)

//go:embed page.md.tmpl
var source string

var text = template.Must(template.New("page").Funcs(template.FuncMap{"number": number}).Parse(source))

// order of the rows.
var order = append([]string{
	"ping", "limit", "local", "ours", "redlock", "naive", "rueidislock", "rueidislock-3keys", "redsync", "redsync-10ms",
	"redislock", "redislock-100ms", "redsync5", "redisson", "redisson-fair", "etcd",
}, versions.Names()...)

// Write makes the page of saved runs.
func Write(out io.Writer, saved record.Saved) error {
	all := rowsOf(saved.Runs)
	var judgements []judged
	for _, g := range goals {
		judgements = append(judgements, g.judge(all))
	}
	tables := map[string]string{}
	for _, s := range sections {
		tables[s.workload] = s.table(all, saved)
	}
	var built []string
	for _, name := range slices.Sorted(maps.Keys(saved.Header.Versions)) {
		built = append(built, name+" "+saved.Header.Versions[name])
	}
	return text.Execute(out, map[string]any{
		"Header": saved.Header, "Versions": strings.Join(built, " · "), "Goals": judgements, "Tables": tables, "Runs": len(saved.Runs),
		"Missing": slices.Sorted(maps.Keys(saved.Header.Missing)),
	})
}

// column of a table.
type column struct {
	name string
	cell func(all rows, workload string, lock string) string
}

// section is a table: one workload.
type section struct {
	workload string
	row      string // what its rows are; "": locks
	columns  []column
}

var (
	total    = column{"ms min / **med** / max", spreadOf(func(r record.Run) float64 { return r.Seconds * 1e3 })}
	perSec   = column{"per second min / **med** / max", spreadOf(rate)}
	latency  = column{"µs, min / **med** / max of the runs' medians", spreadOf(waitP50)}
	waits    = column{"wait ms p50 / p99 / max", func(all rows, w, l string) string { return waitsOf(all[record.Key{Workload: w, Lock: l}]) }}
	fairness = column{"Jain", medOf(jain)}
	cost     = column{"commands", medOf(commands)}
	received = column{"reads", medOf(reads)}
	server   = column{"µs CPU servers", medOf(serverCPU)}
	clients  = column{"µs CPU clients", medOf(clientCPU)}
	memory   = column{"bytes per waiter", medOf(perWaiter)}

	burst     = []column{total, against("× local", "local", seconds), against("× limit", "limit", seconds), waits, cost, received, server, clients}
	sustained = []column{perSec, against("of limit", "limit", rate), against("of local", "local", rate), fairness, waits, cost, received, server, clients}

	sections = []section{
		{workload: "uncontended", columns: []column{latency, against("× PING", "ping", waitP50), perSec, cost, received, server, clients}},
		{workload: "burst", columns: burst},
		{workload: "burst-4000", columns: burst},
		{workload: "rtt", columns: burst},
		{workload: "sustained", columns: sustained},
		{workload: "keys-10", columns: sustained},
		{workload: "processes-8", columns: sustained},
		{workload: "hand-over", columns: []column{latency, against("× rueidislock", "rueidislock", waitP50), cost, received, server, clients}},
		{workload: "http", row: "version", columns: []column{{"lock", lockOf}, total, against("× v1", "v1", seconds)}},
		{workload: "memory", columns: []column{memory, total, cost}},
	}
)

// table of a section; rows that were planned and could not run are in it, too.
func (s section) table(all rows, saved record.Saved) string {
	var b strings.Builder
	names, rule := []string{cmp.Or(s.row, "lock")}, []string{"---"}
	for _, c := range s.columns {
		names, rule = append(names, c.name), append(rule, "---:")
	}
	line(&b, append(names, "failed", "lost", "runs"))
	line(&b, append(rule, "---:", "---:", "---:"))
	for _, lock := range order {
		runs := all[record.Key{Workload: s.workload, Lock: lock}]
		if len(runs) == 0 {
			continue
		}
		cells := []string{lock}
		for _, c := range s.columns {
			cells = append(cells, c.cell(all, s.workload, lock))
		}
		failed, lost := all.failures(s.workload, lock)
		line(&b, append(cells, strconv.Itoa(failed), strconv.Itoa(lost), strconv.Itoa(len(runs))))
	}
	for _, note := range failuresOf(saved.Runs, s.workload) {
		b.WriteString("\n" + note)
	}
	return b.String()
}

func line(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// failuresOf says of each row that failed how often and what it said.
func failuresOf(runs []record.Run, workload string) []string {
	var notes []string
	for _, lock := range order {
		bad, n, said := 0, 0, ""
		for _, r := range runs {
			if r.Workload != workload || r.Lock != lock {
				continue
			}
			n++
			if !clean(r) {
				bad++
				said = r.Error
			}
		}
		if bad > 0 {
			notes = append(notes, fmt.Sprintf("- **%s failed in %d of %d runs**: %s\n", lock, bad, n, strings.Join(strings.Fields(said), " ")))
		}
	}
	return notes
}

func spreadOf(of func(record.Run) float64) func(rows, string, string) string {
	return func(all rows, w, l string) string {
		s := stats.SpreadOf(figures(all[record.Key{Workload: w, Lock: l}], of))
		return fmt.Sprintf("%s / **%s** / %s", number(s.Min), number(s.Med), number(s.Max))
	}
}

func medOf(of func(record.Run) float64) func(rows, string, string) string {
	return func(all rows, w, l string) string {
		return number(stats.Quantile(figures(all[record.Key{Workload: w, Lock: l}], of), 0.5))
	}
}

// lockOf is the lock of a version of the app.
func lockOf(_ rows, _, version string) string {
	v, _ := versions.Find(version)
	return v.Title
}

// against is the ratio to another row, where both have clean runs in the same repetition.
func against(name, other string, of func(record.Run) float64) column {
	return column{name, func(all rows, w, l string) string {
		if r, ok := all.ratio(w, l, other, of); ok {
			return number(r)
		}
		return "–"
	}}
}

func waitsOf(runs []record.Run) string {
	med := func(of func(record.Run) float64) string { return number(stats.Quantile(figures(runs, of), 0.5) / 1e3) }
	return med(waitP50) + " / " + med(func(r record.Run) float64 { return r.WaitP99 }) + " / " + med(func(r record.Run) float64 { return r.WaitMax })
}

// number has three digits that mean something.
func number(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
