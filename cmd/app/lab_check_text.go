package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"locklab/experiments"
	"locklab/experiments/loadtool"
)

// print writes the results the way that was asked for.
func (r *checkResult) print(programs bool, std streams) error {
	if programs {
		return asJSON(std, r)
	}
	_, err := fmt.Fprint(std.out, r.text(colours(std.out)))
	return err
}

// text is the result for people: a table for each kind, and the reasons.
func (r *checkResult) text(colour bool) string {
	var parts []string
	if len(r.Runs) > 0 {
		parts = append(parts, "Saved runs, judged again\n\n"+runsTable(r.Runs, colour))
		if why := runsReasons(r.Runs, colour, len(r.Runs) == 1); why != "" {
			parts = append(parts, strings.TrimRight(why, "\n"))
		}
	}
	if views := r.table(loadtool.Pageview, colour); views != "" {
		parts = append(parts, "Page views at once\n\n"+views+"\n\n same: values that one process wrote twice · both: values that both wrote · requests: usable answers of each process")
	}
	if orders := r.table(loadtool.Order, colour); orders != "" {
		parts = append(parts, "Drivers grab one order at once\n\n"+orders)
	}
	var reasons []string
	for _, f := range r.Files {
		if f.Why != "" {
			reasons = append(reasons, fmt.Sprintf("%s: %s: %s", printable(f.File), painted(f.Verdict, colour), f.Why))
		}
	}
	if len(reasons) > 0 {
		parts = append(parts, strings.Join(reasons, "\n"))
	}
	parts = append(parts, fmt.Sprintf("Verdict: %s. \"As expected\" means: no violation in this run, or one where it was expected.\n", painted(r.Verdict, colour)))
	return strings.Join(parts, "\n\n")
}

// table has a row for each file of one kind; it is empty when there is none.
func (r *checkResult) table(kind loadtool.Kind, colour bool) string {
	t := newTable()
	counts := []string{"winners"}
	if kind == loadtool.Pageview {
		counts = []string{"final", "lost", "same", "both"}
	}
	numbers := slices.Concat([]string{"users"}, counts, []string{"p50", "p99", "max"})
	header := slices.Concat([]string{"file", "version"}, numbers, []string{"requests", "verdict"})
	t.AppendHeader(row(header...))
	t.SetColumnConfigs(right(numbers...))
	for _, f := range r.Files {
		if f.Kind == kind {
			cells := slices.Concat([]string{f.File, f.Version, fmt.Sprint(f.Users)}, f.counts(), f.Time.cells(), []string{named(f.PerInstance)})
			t.AppendRow(append(row(cells...), painted(f.Verdict, colour)))
		}
	}
	if t.Length() == 0 {
		return ""
	}
	return render(t)
}

func row(cells ...string) table.Row {
	var all table.Row
	for _, c := range cells {
		all = append(all, printable(c))
	}
	return all
}

// counts are what the kind of burst is about.
func (f checkedFile) counts() []string {
	if f.Order != nil {
		return []string{fmt.Sprint(f.Order.Winners)}
	}
	v := f.Pageview
	return []string{fmt.Sprint(v.Final), fmt.Sprint(v.Lost), fmt.Sprint(v.Inside), fmt.Sprint(v.Across)}
}

func (t *checkedTimes) cells() []string {
	if t == nil {
		return []string{"-", "-", "-"}
	}
	return []string{took(t.P50MS), took(t.P99MS), took(t.MaxMS)}
}

// named shows how the requests were spread, with the instances' names.
func named(perInstance map[string]int) string {
	var counts []string
	for _, instance := range slices.Sorted(maps.Keys(perInstance)) {
		counts = append(counts, fmt.Sprintf("%s: %d", instance, perInstance[instance]))
	}
	return strings.Join(counts, ", ")
}

// oneLine joins what joined errors have in a line each.
func oneLine(text string) string { return printable(strings.ReplaceAll(text, "\n", "; ")) }

// printable keeps what a file contains from steering the terminal.
func printable(text string) string { return experiments.Printable(text) }
