package terminal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"locklab/internal/progress"
	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/report/outcome"
	"locklab/versions"
)

// Bursts is what `app demo` and `app burst` print: two tables and what they mean. In a file the tables have 80 columns at most.
func Bursts(r *burst.Results, screen Screen) string {
	tables := Screen{cmp.Or(screen.Columns, 80), screen.Colour}
	parts := []any{
		burstTitle(r, tables), pageviewTable(r, screen.Colour).In(tables), ranges(r, screen), r.Drivers,
		orderTable(r, screen.Colour).In(tables), screen.Fit(explanation(r), 0),
		screen.Fit(fmt.Sprintf("%s (%.1f s). %s", Verdict(r.Verdict, screen.Colour), float64(r.TookMS)/1000, meaning), len("Verdict: ")),
	}
	return fmt.Sprintf("%s\n\n%s\n\n%s%d drivers grab one order simultaneously\n\n%s\n\n%s\nVerdict: %s\n", parts...)
}

// burstTitle says who sent what to which instances. It names them if there is room.
func burstTitle(r *burst.Results, screen Screen) string {
	number, what := fmt.Sprint(r.Behind()), "instances"
	if r.Behind() == 2 {
		number = "two"
	}
	if r.Redis != "" { // this program started them
		what = "processes"
	}
	redis := map[string]string{"redis-server": " (redis-server)", "miniredis": " (miniredis, no real redis-server)"}[r.Redis]
	load := fmt.Sprintf("%d simultaneous page views by %s,", r.Users, r.Tool)
	behind := fmt.Sprintf(" behind %s, Redis %s%s", r.URL, r.Topology, redis)
	names := instanceNames(r)
	at := fmt.Sprintf("%s %s (%s)%s", number, what, strings.Join(names, ", "), behind)
	if len(names) != r.Behind() || utf8.RuneCountInString(at) > screen.Columns {
		at = number + " " + what + behind
	}
	if utf8.RuneCountInString(load+" "+at) > screen.Columns {
		return screen.Fit(load+"\n"+at, 0)
	}
	return load + " " + at
}

// instanceNames are the names of the instances that answered.
func instanceNames(r *burst.Results) (names []string) {
	all := map[string]int{}
	for _, views := range r.Pageview {
		maps.Copy(all, views.PerInstance)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		names = append(names, lab.Printable(name))
	}
	return names
}

// pageviewTable has a row for each burst of page views.
func pageviewTable(r *burst.Results, colour bool) Table {
	t := NewTable("version", "protected by", "final", "lost", "requests", "ms", "verdict").Right("final", "lost", "requests", "ms")
	for _, views := range r.Pageview {
		o := outcome.ViewsBeside(views.Version, views.Counts, len(views.Failed), views.Verdict)
		t.Row(burstName(r, views.Judged), views.Lock, views.Final, counted(views.Lost, 0, o, colour), requests(views.PerInstance),
			wholeMS(views.TookMS), shown(o, colour))
	}
	return t
}

// orderTable has a row for each burst of drivers.
func orderTable(r *burst.Results, colour bool) Table {
	t := NewTable("version", "protected by", "winners", "requests", "ms", "verdict").Right("winners", "requests", "ms")
	for _, grabs := range r.Order {
		o := outcome.WinnersBeside(grabs.Winners, len(grabs.Failed), grabs.Verdict)
		t.Row(burstName(r, grabs.Judged), grabs.Lock, counted(grabs.Winners, 1, o, colour), requests(grabs.PerInstance),
			wholeMS(grabs.TookMS), shown(o, colour))
	}
	return t
}

// counted has the colour of the outcome if it is more than may be.
func counted(n, most int, o outcome.Outcome, colour bool) Trusted {
	return Paint(fmt.Sprint(n), colours[o.Tone], colour && n > most)
}

// requests is how many each instance answered, in the order of their names. Of more than four instances it has the fewest and the most.
func requests(perInstance map[string]int) string {
	var counts []string
	for _, name := range slices.Sorted(maps.Keys(perInstance)) {
		counts = append(counts, fmt.Sprint(perInstance[name]))
	}
	if len(counts) <= 4 {
		return cmp.Or(strings.Join(counts, " + "), "0")
	}
	sorted := slices.Sorted(maps.Values(perInstance))
	least, most := sorted[0], sorted[len(sorted)-1]
	if least == most {
		return fmt.Sprintf("%d × %d", len(sorted), least)
	}
	return fmt.Sprintf("%d × %d to %d", len(sorted), least, most)
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

// ranges says how far the runs of a version that loses updates lie apart: one run is no measure of it.
func ranges(r *burst.Results, screen Screen) string {
	if r.Rounds < 2 {
		if !slices.ContainsFunc(r.Ranges, func(of burst.Range) bool { v, _ := versions.Find(of.Version); return v.LosesUpdates }) {
			return ""
		}
		hint := ""
		if r.Tool == (burst.App{}).Name() {
			hint = "; --rounds 10 shows the range"
		}
		return screen.Fit(" What is lost differs from run to run"+hint+".\n\n", 0)
	}
	table := NewTable("version", "lowest final", "highest final", "winners").Right("lowest final", "highest final", "winners")
	for _, of := range r.Ranges {
		winners := fmt.Sprint(of.LowWinners)
		if of.HighWinners > of.LowWinners {
			winners += "–" + fmt.Sprint(of.HighWinners)
		}
		table.Row(of.Version, of.LowFinal, of.HighFinal, winners)
	}
	return fmt.Sprintf("The range of %d rounds\n\n%s\n\n", r.Rounds, table.In(screen))
}

// burstName is the version, with its round where there are several.
func burstName(r *burst.Results, row burst.Judged) string {
	if r.Rounds > 1 {
		return fmt.Sprintf("%s #%d", row.Version, row.Round)
	}
	return row.Version
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
			return row.Version == v.Name && row.Verdict == lab.AsExpected
		}) {
			b.WriteString(v.Explanation + "\n")
		}
	}
	return b.String()
}
