// Package page makes the part of docs/benchmark.md below its conclusions, of saved runs and of nothing else.
package page

import (
	_ "embed" // for the template
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"

	"locklab/internal/benchfile"
	"locklab/versions"
)

//go:embed page.md.tmpl
var source string

var text = template.Must(template.New("page").Funcs(template.FuncMap{"number": benchfile.Digits}).Parse(source))

// libraries are the rows that are not ours.
var libraries = []string{
	"rueidislock", "redsync", "redislock", "redsync5", "redsync5-hang", "redisson", "redisson-fair", "GET_LOCK", "zk.Lock", "etcd",
}

// order of the rows.
var order = append([]string{
	"ping", "limit", "local", "ours-1", "ours-4", "ours-16", "ours", "bare", "redlock", "redlock-bare", "redlock-hang", "rueidislock",
	"redsync", "redislock", "redsync5", "redsync5-hang", "redisson", "redisson-fair",
	"v5", "v5-bare", "GET_LOCK", "v6", "v6-bare", "zk.Lock", "v7", "v7-bare", "etcd", "v8", "v8-bare",
}, versions.Defaults()...)

// Write makes that part.
func Write(out io.Writer, saved benchfile.Saved) error {
	var judgements []judged
	met, measured := 0, 0
	for _, g := range goals {
		j := g.judge(saved.Runs)
		judgements = append(judgements, j)
		if j.Met != "not measured" {
			measured++
		}
		if j.Met == "yes" {
			met++
		}
	}
	tables := map[string]string{}
	for _, s := range sections {
		tables[s.workload] = s.table(saved.Runs)
	}
	var built []string
	for _, name := range slices.Sorted(maps.Keys(saved.Header.Versions)) {
		built = append(built, fmt.Sprintf("`%s %s`", name, saved.Header.Versions[name]))
	}
	return text.Execute(out, map[string]any{
		"Header": saved.Header, "Versions": strings.Join(built, ", "), "Goals": judgements, "Tables": tables, "Runs": len(saved.Runs),
		"Met": met, "Measured": measured, "Lost": lostByOurs(saved.Runs),
	})
}

// lostByOurs are the updates that our locks have lost. v1 and v2 are there to lose some, so theirs say nothing.
func lostByOurs(all benchfile.Runs) (lost int) {
	for _, r := range all {
		if !r.MayLose() && !slices.Contains(libraries, r.Lock) {
			lost += r.Lost
		}
	}
	return lost
}

// Tables prints the tables alone, of the workloads that were measured, and what was missing.
func Tables(out io.Writer, saved benchfile.Saved) error {
	var b strings.Builder
	for _, s := range sections {
		if slices.ContainsFunc(saved.Runs, func(r benchfile.Run) bool { return r.Workload == s.workload }) {
			fmt.Fprintf(&b, "\n%s\n\n%s", s.workload, s.table(saved.Runs))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(saved.Header.Missing)) {
		fmt.Fprintf(&b, "\n%s was not measured. It needs: %s\n", name, saved.Header.Missing[name])
	}
	_, err := io.WriteString(out, b.String())
	return err
}
