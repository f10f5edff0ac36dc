package terminal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/internal/progress"
	"locklab/report/outcome"
	"locklab/versions"
)

// Bursts is what `app demo` and `app burst` print: two tables and what they mean.
func Bursts(r *burst.Results, screen Screen) string {
	number, several := "two", "both"
	if n := r.Behind(); n > 2 {
		number, several = fmt.Sprint(n), "more than one"
	}
	where := number + " processes behind a round-robin balancer"
	redis := map[string]string{"redis-server": " (redis-server)", "miniredis": " (miniredis, no real redis-server)"}[r.Redis]
	if r.Redis == "" {
		where = number + " instances behind " + r.URL
	}
	pageviews, each, legend := pageviewTable(r, screen.Colour)
	orders, eachOrder := orderTable(r, screen.Colour)
	legend = fmt.Sprintf(samePair+` %s wrote%s
 A4: the final value that the article reports, if any · same and both need not add up to lost: a later write may be lower`, several, legend)
	parts := []any{
		screen.Fit(fmt.Sprintf("%d simultaneous page views%s, %s, Redis %s%s", r.Users, each, where, r.Topology, redis), 0),
		pageviews.In(screen), screen.Fit(legend, 0), ranges(r, screen), r.Drivers, eachOrder, orders.In(screen),
		screen.Fit(explanation(r), 0),
		screen.Fit(fmt.Sprintf("%s (%.1f s). %s", Verdict(r.Verdict, screen.Colour), float64(r.TookMS)/1000, meaning), len("Verdict: ")),
	}
	return fmt.Sprintf("%s\n\n%s\n\n%s\n%s\n%d drivers grab one order simultaneously%s\n\n%s\n\n%s\nVerdict: %s\n", parts...)
}

// pageviewTable has a row for each burst of page views. each says how many requests a process got, and legend what the column "requests"
// is. If all rows have the same numbers, each has them, and there is no such column.
func pageviewTable(r *burst.Results, colour bool) (t Table, each, legend string) {
	var rows []burst.Judged
	for _, views := range r.Pageview {
		rows = append(rows, views.Judged)
	}
	header := []string{"version", "lock", "final", "same", "both", "ms", "A4", "verdict"}
	if each = evenly(rows); each == "" {
		header, legend = slices.Insert(header, 5, "requests"), " · requests: of each process"
	}
	t = NewTable(header...).Right("final", "same", "both", "requests", "ms", "A4")
	for _, views := range r.Pageview {
		article := views.Article
		if r.Users != versions.ArticleUsers { // for which alone the article reports a value
			article = "-"
		}
		cells := []any{
			burstName(r, views.Judged), views.Lock, views.Final, views.Inside, views.Across, wholeMS(views.TookMS), article,
			shown(outcome.ShortViews(views.Version, views.Counts, views.Verdict), colour),
		}
		if each == "" {
			cells = slices.Insert(cells, 5, any(halves(views.PerInstance)))
		}
		t.Row(cells...)
	}
	return t, each, legend
}

// orderTable has a row for each burst of drivers. each is as in pageviewTable.
func orderTable(r *burst.Results, colour bool) (t Table, each string) {
	var rows []burst.Judged
	for _, grabs := range r.Order {
		rows = append(rows, grabs.Judged)
	}
	header := []string{"version", "lock", "ms", "verdict"}
	if each = evenly(rows); each == "" {
		header = slices.Insert(header, 2, "requests")
	}
	t = NewTable(header...).Right("requests", "ms")
	for _, grabs := range r.Order {
		cells := []any{
			burstName(r, grabs.Judged), grabs.Lock, wholeMS(grabs.TookMS), shown(outcome.Winners(grabs.Winners, grabs.Verdict), colour),
		}
		if each == "" {
			cells = slices.Insert(cells, 2, any(halves(grabs.PerInstance)))
		}
		t.Row(cells...)
	}
	return t, each
}

// evenly is how many requests each process got, if that is the same in all rows. Otherwise it is empty.
func evenly(rows []burst.Judged) string {
	if len(rows) == 0 {
		return ""
	}
	first := halves(rows[0].PerInstance)
	if first == "" || slices.ContainsFunc(rows, func(row burst.Judged) bool { return halves(row.PerInstance) != first }) {
		return ""
	}
	return " (" + first + ")"
}

// TellBursts shows in a line how far the bursts of a plan are, from their events.
func TellBursts(line *progress.Line) func(burst.Event) {
	return func(e burst.Event) {
		switch e := e.(type) {
		case burst.WarmingUp:
			line.Say(e.String())
		case burst.VersionBegan:
			line.Step(e.Number, e.All, e.String())
		}
	}
}

// samePair begins the legend of the columns same and both.
const samePair = " same: writes of a value that the same process had written before · both: values that"

// ranges says how far the runs of a version that loses updates lie apart: one run is no measure of it.
func ranges(r *burst.Results, screen Screen) string {
	chance := ""
	if slices.ContainsFunc(r.Ranges, func(of burst.Range) bool { v, _ := versions.Find(of.Version); return v.LosesUpdates }) {
		chance = screen.Fit(" A4 reports one run. The final value of a version that loses updates differs from run to run.\n", 0)
	}
	switch {
	case r.Rounds < 2 && chance == "":
		return ""
	case r.Rounds < 2:
		return chance + " --rounds 10 shows the lowest and the highest of ten runs.\n"
	}
	table := NewTable("version", "lowest final", "highest final", "winners").Right("lowest final", "highest final", "winners")
	for _, of := range r.Ranges {
		winners := fmt.Sprint(of.LowWinners)
		if of.HighWinners > of.LowWinners {
			winners += "–" + fmt.Sprint(of.HighWinners)
		}
		table.Row(of.Version, of.LowFinal, of.HighFinal, winners)
	}
	return fmt.Sprintf("%s\nThe range of %d rounds\n\n%s\n", chance, r.Rounds, table.In(screen))
}

// burstName is the version, with its round where there are several.
func burstName(r *burst.Results, row burst.Judged) string {
	if r.Rounds > 1 {
		return fmt.Sprintf("%s #%d", row.Version, row.Round)
	}
	return row.Version
}

// halves shows how the requests were spread, without the names, which are ports.
func halves(perInstance map[string]int) string {
	var counts []string
	for _, n := range slices.Sorted(maps.Values(perInstance)) {
		counts = append(counts, fmt.Sprint(n))
	}
	return strings.Join(counts, " + ")
}

// wholeMS is a time for a column in milliseconds.
func wholeMS(ms float64) string { return fmt.Sprintf("%.0f", ms) }

// explanation says which requests were refused, which versions were left out, and what each version that did as predicted shows.
func explanation(r *burst.Results) string {
	var b strings.Builder
	for i, views := range r.Pageview {
		if n, m := views.Stale, r.Order[i].Stale; n+m > 0 {
			fmt.Fprintf(&b, "%s: %d page views and %d drivers were refused, for their holder was stale; none of them counted.\n",
				burstName(r, views.Judged), n, m)
		}
	}
	for _, sentence := range r.LeftOut {
		b.WriteString(sentence + "\n")
	}
	for _, v := range versions.All() {
		if slices.ContainsFunc(r.Pageview, func(row burst.PageviewRow) bool {
			return row.Version == v.Name && row.Verdict == experiments.AsExpected
		}) {
			b.WriteString(v.Explanation + "\n")
		}
	}
	return b.String()
}
