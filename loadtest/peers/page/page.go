// Package page makes docs/benchmark.md of saved runs, and of nothing else.
package page

import (
	"embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"

	"locklab/loadtest/peers/record"
	"locklab/versions"
)

//go:embed *.md.tmpl
var source embed.FS

var text = template.Must(template.New("page.md.tmpl").Funcs(template.FuncMap{
	"number": number, "enumerate": func(i int) int { return i + 1 },
}).ParseFS(source, "*.md.tmpl"))

// order of the rows.
var order = append([]string{
	"ping", "limit", "local", "ours", "bare", "redlock", "redlock-bare", "redlock-hang", "rueidislock", "redsync",
	"redislock", "redsync5", "redsync5-hang", "redisson", "redisson-fair",
	"v5", "v5-bare", "GET_LOCK", "v6", "v6-bare", "zk.Lock", "v7", "v7-bare", "etcd", "v8", "v8-bare",
}, versions.Defaults()...)

// Write makes the page of saved runs.
func Write(out io.Writer, saved record.Saved) error {
	all := rowsOf(saved.Runs)
	var judgements []judged
	for _, g := range goals {
		judgements = append(judgements, g.judge(all))
	}
	tables := map[string]string{}
	for _, s := range sections {
		tables[s.workload] = s.table(all)
	}
	var built []string
	for _, name := range slices.Sorted(maps.Keys(saved.Header.Versions)) {
		built = append(built, fmt.Sprintf("`%s %s`", name, saved.Header.Versions[name]))
	}
	return text.Execute(out, map[string]any{
		"Header": saved.Header, "Versions": strings.Join(built, ", "), "Goals": judgements, "Tables": tables, "Runs": len(saved.Runs),
		"Conclusions": conclusions(all, judgements),
		"Missing":     slices.Sorted(maps.Keys(saved.Header.Missing)),
	})
}

// Tables prints the tables alone, of the workloads that were measured.
func Tables(out io.Writer, saved record.Saved) error {
	all := rowsOf(saved.Runs)
	for _, s := range sections {
		if !slices.ContainsFunc(saved.Runs, func(r record.Run) bool { return r.Workload == s.workload }) {
			continue
		}
		if _, err := fmt.Fprintf(out, "\n%s\n\n%s", s.workload, s.table(all)); err != nil {
			return err
		}
	}
	return nil
}
