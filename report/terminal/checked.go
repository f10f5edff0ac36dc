package terminal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/experiments"
	"locklab/experiments/check"
)

// Checked is what `app lab check` prints: a table for each kind, and the reasons.
func Checked(r *check.Result, screen Screen) string {
	colour := screen.Colour
	var parts []string
	if len(r.Runs) > 0 {
		parts = append(parts, "Saved runs, judged again", runsTable(r.Runs, colour).String())
		if why := evidence(r.Runs, screen); why != "" {
			parts = append(parts, strings.TrimRight(why, "\n"))
		}
	}
	pageviews, orders := files(r, colour)
	if pageviews.Len() > 0 {
		parts = append(parts, "Simultaneous page views", pageviews.String(),
			screen.Fit(samePair+" both wrote · requests: usable answers of each process", 0))
	}
	if orders.Len() > 0 {
		parts = append(parts, "Drivers grab one order simultaneously", orders.String())
	}
	var reasons []string
	for _, f := range r.Files {
		if f.Why != "" {
			reasons = append(reasons, fmt.Sprintf("%s: %s: %s", experiments.Printable(f.File), Verdict(f.Verdict, colour), f.Why))
		}
	}
	if len(reasons) > 0 {
		parts = append(parts, screen.Fit(strings.Join(reasons, "\n"), 0))
	}
	parts = append(parts, screen.Fit(fmt.Sprintf("Verdict: %s. %s\n", Verdict(r.Verdict, colour), meaning), 0))
	return strings.Join(parts, "\n\n")
}

func files(r *check.Result, colour bool) (pageviews, orders Table) {
	pageviews = NewTable("file", "version", "users", "final", "lost", "same", "both", "p50", "p99", "max", "requests", "verdict").
		Right("users", "final", "lost", "same", "both", "p50", "p99", "max")
	orders = NewTable("file", "version", "users", "winners", "p50", "p99", "max", "requests", "verdict").
		Right("users", "winners", "p50", "p99", "max")
	for _, f := range r.Files {
		p50, p99, longest := cellsOf(f.Time)
		requests, verdict := perInstance(f), Verdict(f.Verdict, colour)
		if v := f.Pageview; v != nil {
			pageviews.Row(f.File, f.Version, f.Users, v.Final, v.Lost, v.Inside, v.Across, p50, p99, longest, requests, verdict)
		}
		if f.Order != nil {
			orders.Row(f.File, f.Version, f.Users, f.Order.Winners, p50, p99, longest, requests, verdict)
		}
	}
	return pageviews, orders
}

func cellsOf(t *check.Times) (p50, p99, longest string) {
	if t == nil {
		return "-", "-", "-"
	}
	return inMS(t.P50MS), inMS(t.P99MS), inMS(t.MaxMS)
}

func perInstance(f check.File) string {
	var counts []string
	for _, instance := range slices.Sorted(maps.Keys(f.PerInstance)) {
		counts = append(counts, fmt.Sprintf("%s: %d", instance, f.PerInstance[instance]))
	}
	return strings.Join(counts, ", ")
}
