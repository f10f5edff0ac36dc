package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"locklab/experiments"
	"locklab/versions"
)

// text is the result for people: two tables and what they mean.
func (r *burstsResult) text(colour bool) string {
	where := "two processes behind a round-robin balancer"
	redis := map[string]string{"redis-server": " (redis-server)", "miniredis": " (miniredis, no real redis-server)"}[r.Redis]
	if r.Redis == "" {
		where = "two instances behind " + r.URL
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d page views at once, %s, Redis %s%s\n\n", r.Users, where, r.Topology, redis)
	b.WriteString(r.pageviewTable(colour))
	b.WriteString("\n\n same: values that one process wrote twice · both: values that both wrote · requests: of each process")
	b.WriteString("\n A4: the final value that the article reports · same and both need not add up to lost: a later write may be lower")
	fmt.Fprintf(&b, "\n\n%d drivers grab one order at once\n\n", r.Drivers)
	b.WriteString(r.orderTable(colour))
	b.WriteString("\n\n" + r.explanation())
	return b.String()
}

func (r *burstsResult) pageviewTable(colour bool) string {
	t := newTable()
	t.AppendHeader(table.Row{"version", "lock", "final", "lost", "same", "both", "requests", "time", "A4", "verdict"})
	t.SetColumnConfigs(right("final", "lost", "same", "both", "requests", "time", "A4"))
	for _, row := range r.Pageview {
		t.AppendRow(table.Row{
			r.named(row.judged), row.Lock, row.Final, row.Lost, row.Inside, row.Across,
			halves(row.PerInstance), took(row.TookMS), r.article(row), painted(row.Verdict, colour),
		})
	}
	return render(t)
}

func (r *burstsResult) orderTable(colour bool) string {
	t := newTable()
	t.AppendHeader(table.Row{"version", "lock", "winners", "requests", "time", "verdict"})
	t.SetColumnConfigs(right("winners", "requests", "time"))
	for _, row := range r.Order {
		t.AppendRow(table.Row{r.named(row.judged), row.Lock, row.Winners, halves(row.PerInstance), took(row.TookMS), painted(row.Verdict, colour)})
	}
	return render(t)
}

// named is the version, with its round where there are several.
func (r *burstsResult) named(row judged) string {
	if r.Rounds > 1 {
		return fmt.Sprintf("%s #%d", row.Version, row.Round)
	}
	return row.Version
}

// article is what A4 reports, which is for 666 views.
func (r *burstsResult) article(row pageviewRow) string {
	if r.Users != 666 {
		return "-"
	}
	return row.Article
}

func newTable() table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.Options{SeparateHeader: true}
	t.Style().Format.Header = text.FormatDefault
	return t
}

// render drops the blanks that the table puts behind its last column.
func render(t table.Writer) string {
	lines := strings.Split(t.Render(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func right(columns ...string) []table.ColumnConfig {
	var configs []table.ColumnConfig
	for _, name := range columns {
		configs = append(configs, table.ColumnConfig{Name: name, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	return configs
}

// halves shows how the requests were spread, without the names, which are ports.
func halves(perInstance map[string]int) string {
	var counts []string
	for _, n := range perInstance {
		counts = append(counts, fmt.Sprint(n))
	}
	slices.Sort(counts)
	return strings.Join(counts, " + ")
}

func took(ms float64) string { return fmt.Sprintf("%.0f ms", ms) }

func painted(v experiments.Verdict, colour bool) string {
	if !colour {
		return v.String()
	}
	paint := map[experiments.Verdict]text.Color{
		experiments.AsExpected: text.FgGreen, experiments.Unexpected: text.FgRed, experiments.Inconclusive: text.FgYellow,
	}[v]
	return "\x1b[" + fmt.Sprint(int(paint)) + "m" + v.String() + "\x1b[0m"
}

func (r *burstsResult) explanation() string {
	var b strings.Builder
	for i, views := range r.Pageview {
		if n, m := views.Stale, r.Order[i].Stale; n+m > 0 {
			fmt.Fprintf(&b, "%s: %d page views and %d drivers were refused, for their holder was stale; none of them counted.\n", r.named(views.judged), n, m)
		}
	}
	for _, v := range versions.All() {
		if slices.ContainsFunc(r.Pageview, func(row pageviewRow) bool {
			return row.Version == v.Name && row.Verdict == experiments.AsExpected
		}) {
			b.WriteString(v.Shows + "\n")
		}
	}
	fmt.Fprintf(&b, "\nVerdict: %s (%.1f s). \"As expected\" means: no violation in this run, or one where it was expected.\n", r.Verdict, float64(r.TookMS)/1000)
	return b.String() + r.next
}
