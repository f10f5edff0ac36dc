// Package page makes tables and docs/benchmark.md of saved runs, and of nothing else.
package page

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"locklab/loadtest/peers/record"
	"locklab/loadtest/peers/stats"
)

// Tables prints every workload for a developer's quick look.
func Tables(out io.Writer, saved record.Saved) error {
	seen := map[string]bool{}
	for _, r := range saved.Runs {
		if seen[r.Workload] {
			continue
		}
		seen[r.Workload] = true
		fmt.Fprintf(out, "\n%s\n", r.Workload)
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "lock\tms min\tmed\tmax\tper s\twait p50 µs\tp99\tmax\tJain\tcommands\treads\tµs CPU srv\tcli\tB/waiter\tfailed\tlost\t")
		for _, lock := range locksOf(saved.Runs, r.Workload) {
			row(table, lock, saved.Runs, r.Workload)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func locksOf(runs []record.Run, workload string) []string {
	var locks []string
	seen := map[string]bool{}
	for _, r := range runs {
		if r.Workload == workload && !seen[r.Lock] {
			seen[r.Lock] = true
			locks = append(locks, r.Lock)
		}
	}
	return locks
}

func row(out io.Writer, lock string, runs []record.Run, workload string) {
	var mine []record.Run
	failed, lost, said := 0, 0, ""
	for _, r := range runs {
		if r.Workload == workload && r.Lock == lock {
			mine = append(mine, r)
			failed, lost = failed+r.Failed, lost+r.Lost
			if r.Error != "" {
				said = r.Error
			}
		}
	}
	med := func(of func(record.Run) float64) float64 { return spread(mine, of).Med }
	ms := spread(mine, func(r record.Run) float64 { return r.Seconds * 1e3 })
	fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.3f\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t%d\t%d\t %s\n", lock, ms.Min, ms.Med, ms.Max,
		med(func(r record.Run) float64 { return r.Rate }),
		med(func(r record.Run) float64 { return r.WaitP50 }), med(func(r record.Run) float64 { return r.WaitP99 }), med(func(r record.Run) float64 { return r.WaitMax }),
		med(func(r record.Run) float64 { return r.Jain }), med(func(r record.Run) float64 { return r.Commands }), med(func(r record.Run) float64 { return r.Reads }),
		med(func(r record.Run) float64 { return r.ServerCPU }), med(func(r record.Run) float64 { return r.ClientCPU }), med(func(r record.Run) float64 { return r.PerWaiter }),
		failed, lost, strings.Join(strings.Fields(said), " "))
}

func spread(runs []record.Run, of func(record.Run) float64) stats.Spread {
	return stats.SpreadOf(figures(runs, of))
}
