package terminal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/internal/progress"
	"locklab/versions"
)

// Bursts is what `app demo` and `app burst` print: two tables and what they mean.
func Bursts(r *burst.Results, screen Screen) string {
	colour := screen.Colour
	number, several := "two", "both"
	if n := r.Behind(); n > 2 {
		number, several = fmt.Sprint(n), "more than one"
	}
	where := number + " processes behind a round-robin balancer"
	redis := map[string]string{"redis-server": " (redis-server)", "miniredis": " (miniredis, no real redis-server)"}[r.Redis]
	if r.Redis == "" {
		where = number + " instances behind " + r.URL
	}
	pageviews := NewTable("version", "lock", "final", "lost", "same", "both", "requests", "time", "A4", "verdict").
		Right("final", "lost", "same", "both", "requests", "time", "A4")
	orders := NewTable("version", "lock", "winners", "requests", "time", "verdict").Right("winners", "requests", "time")
	for i, views := range r.Pageview {
		article := views.Article
		if r.Users != versions.ArticleUsers { // for which alone the article reports a value
			article = "-"
		}
		pageviews.Row(burstName(r, views.Judged), views.Lock, views.Final, views.Lost, views.Inside, views.Across,
			halves(views.PerInstance), inMS(views.TookMS), article, Verdict(views.Verdict, colour))
		grabs := r.Order[i]
		orders.Row(burstName(r, grabs.Judged), grabs.Lock, grabs.Winners,
			halves(grabs.PerInstance), inMS(grabs.TookMS), Verdict(grabs.Verdict, colour))
	}
	legend := fmt.Sprintf(samePair+` %s wrote · requests: of each process
 A4: the final value that the article reports, if any · same and both need not add up to lost: a later write may be lower`, several)
	parts := []any{
		screen.Fit(fmt.Sprintf("%d simultaneous page views, %s, Redis %s%s", r.Users, where, r.Topology, redis), 0), pageviews.In(screen),
		screen.Fit(legend, 0), ranges(r, screen), r.Drivers, orders.In(screen), screen.Fit(explanation(r), 0),
		screen.Fit(fmt.Sprintf("%s (%.1f s). %s", r.Verdict, float64(r.TookMS)/1000, meaning), len("Verdict: ")),
	}
	return fmt.Sprintf("%s\n\n%s\n\n%s\n%s\n%d drivers grab one order simultaneously\n\n%s\n\n%s\nVerdict: %s\n", parts...)
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
	if slices.ContainsFunc(r.Ranges, func(of burst.Range) bool { v, _ := versions.Find(of.Version); return v.Loses }) {
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

// inMS is a time for a table.
func inMS(ms float64) string { return fmt.Sprintf("%.0f ms", ms) }

// explanation says which requests were refused, which versions were left out, and what each version that did as expected shows.
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
			b.WriteString(v.Shows + "\n")
		}
	}
	return b.String()
}
