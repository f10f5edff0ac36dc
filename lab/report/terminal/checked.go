package terminal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"locklab/lab"
	"locklab/lab/burst/check"
	"locklab/lab/report/outcome"
)

// Checked is what `app lab check` prints: a table for each kind, and the reasons.
func Checked(r *check.Result, screen Screen) string {
	colour := screen.Colour
	var parts []string
	if len(r.Runs) > 0 {
		parts = append(parts, "Saved runs, judged again", runsTable(r.Runs, colour).In(screen))
		if why := evidence(r.Runs, screen); why != "" {
			parts = append(parts, strings.TrimRight(why, "\n"))
		}
	}
	if of := ran(r.Files, time.Now()); of != "" {
		parts = append(parts, of)
	}
	pageviews, orders := files(r, colour)
	if pageviews.Len() > 0 {
		parts = append(parts, "Simultaneous page views", pageviews.In(screen),
			screen.Fit(" same: writes of a value that the same process had written before · both: values that both wrote"+
				" · requests: usable answers of each process", 0))
	}
	if orders.Len() > 0 {
		parts = append(parts, "Drivers grab one order simultaneously", orders.In(screen))
	}
	var reasons []string
	for _, f := range r.Files {
		if f.Why != "" {
			reasons = append(reasons, fmt.Sprintf("%s: %s: %s", lab.Printable(f.File), Verdict(f.Verdict, colour), f.Why))
		}
	}
	if len(reasons) > 0 {
		parts = append(parts, screen.Fit(strings.Join(reasons, "\n"), 0))
	}
	for _, sentence := range variantsLeftOut(r.Runs) {
		parts = append(parts, "Left out: "+screen.Fit(sentence, 10))
	}
	parts = append(parts, screen.Fit(fmt.Sprintf("Verdict: %s%s. %s\n", Verdict(r.Verdict, colour), ranOf(r.Runs), meaning), 0))
	return strings.Join(parts, "\n\n")
}

// ran says when each file's run was, so that nobody takes one of an earlier run for the last.
func ran(files []check.File, now time.Time) string {
	var lines []string
	for _, f := range files {
		if f.Began.IsZero() {
			continue
		}
		at := f.Began.Local().Format(time.TimeOnly)
		if now.Sub(f.Began) > 12*time.Hour {
			at = f.Began.Local().Format(time.DateTime)
		}
		lines = append(lines, fmt.Sprintf("%s: run of %s, %s, %d users, %s",
			lab.Printable(f.File), at, lab.Printable(f.Version), f.Users, humanize.RelTime(f.Began, now, "ago", "from now")))
	}
	return strings.Join(lines, "\n")
}

func files(r *check.Result, colour bool) (pageviews, orders Table) {
	pageviews = NewTable("file", "version", "users", "final", "same", "both", "p50", "p99", "max", "requests", "verdict").
		Right("users", "final", "same", "both", "p50", "p99", "max")
	orders = NewTable("file", "version", "users", "p50", "p99", "max", "requests", "verdict").
		Right("users", "p50", "p99", "max")
	for _, f := range r.Files {
		p50, p99, longest := cellsOf(f.Time)
		requests := perInstance(f)
		if v := f.Pageview; v != nil {
			verdict := shown(outcome.Views(f.Version, *v, f.Verdict), colour)
			pageviews.Row(f.File, f.Version, f.Users, v.Final, v.Inside, v.Across, p50, p99, longest, requests, verdict)
		}
		if f.Order != nil {
			orders.Row(f.File, f.Version, f.Users, p50, p99, longest, requests, shown(outcome.Winners(f.Order.Winners, f.Verdict), colour))
		}
	}
	return pageviews, orders
}

func cellsOf(t *check.Times) (p50, p99, longest string) {
	if t == nil {
		return "-", "-", "-"
	}
	if p99 = inMS(t.P99MS); t.P99MS == 0 {
		p99 = "-"
	}
	return inMS(t.P50MS), p99, inMS(t.MaxMS)
}

// inMS is a time for a table.
func inMS(ms float64) string { return wholeMS(ms) + " ms" }

func perInstance(f check.File) string {
	var counts []string
	for _, instance := range slices.Sorted(maps.Keys(f.PerInstance)) {
		counts = append(counts, fmt.Sprintf("%s: %d", instance, f.PerInstance[instance]))
	}
	return strings.Join(counts, ", ")
}
