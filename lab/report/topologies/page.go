// Package topologies writes the tables that compare the Redis topologies, versions and load tools in containers.
package topologies

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/internal/marked"
	"locklab/lab"
	"locklab/lab/burst/loadtool"
	"locklab/lab/containers"
	"locklab/lab/report/outcome"
)

// Page writes the tables of docs/topologies.md in Markdown, each with a heading.
func Page(w io.Writer, r *containers.Result) error {
	var ready, bursts, killed [][]string
	for _, t := range r.Topologies {
		ready = append(ready, []string{t.Name, fmt.Sprintf("%.0f s", t.Ready.Seconds()), outcome.Whole(t.Verdict()).Words})
		bursts = append(bursts, burstRows(t, len(r.Tools))...)
		killed = append(killed, outageRow(t.Name, t.Outage))
	}
	columns := []string{"topology", "version", "lock"}
	for _, of := range []string{"final, ", "winners, "} {
		for _, tool := range r.Tools {
			columns = append(columns, of+tool)
		}
	}
	columns = append(columns, "agree")
	_, err := fmt.Fprintf(w, "%s\n%s\n## Bursts while all servers run\n\n%s\n## The master dies during a burst\n\n%s",
		caption(r), marked.Table(1, []string{"topology", "ready after", "verdict"}, ready), marked.Table(3, columns, bursts),
		marked.Table(3, []string{"topology", "killed", "answers", "confirmed", "counter", "lost", "readable", "confirms"}, killed))
	return err
}

// caption says when, where and with what the containers ran.
func caption(r *containers.Result) string {
	return marked.Table(2, []string{"measured", r.Began.UTC().Format("2006-01-02")}, [][]string{
		{"took", fmt.Sprintf("%.0f minutes", r.Ended.Sub(r.Began).Minutes())},
		{"program", r.Build},
		{"machine", fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())},
		{"page views, drivers", fmt.Sprintf("%d, %d", r.Users, r.Drivers)},
		{"lease", r.Lease},
		{"verdict", "**" + outcome.Whole(r.Verdict()).Words + "**"},
	})
}

// burstRows has a row for each version: the final value with each tool, and then the winners. A dash is in place of what was not run.
func burstRows(t containers.Topology, tools int) (rows [][]string) {
	const first = 3 // columns before the final values
	for _, of := range t.Rows {
		at := slices.IndexFunc(rows, func(row []string) bool { return row[1] == of.Claim.Name })
		if at < 0 {
			row := slices.Concat([]string{t.Name, of.Claim.Name, of.Claim.Title}, slices.Repeat([]string{"–"}, 2*tools), []string{"yes"})
			at, rows = len(rows), append(rows, row)
		}
		column := first
		if of.Kind == loadtool.Order {
			column += tools
		}
		for i, c := range of.Cells {
			rows[at][column+i] = final(c)
		}
		if !of.Agree() {
			rows[at][first+2*tools] = "**no**"
		}
	}
	return rows
}

func outageRow(topology string, o containers.Outage) []string {
	counter := "gone"
	if o.ReadAfter > 0 {
		counter = strconv.FormatInt(o.Final, 10)
	}
	return []string{
		topology, o.Killed, statuses(o), strconv.Itoa(len(o.Writes)), counter, strconv.Itoa(o.Lost()), after(o, o.ReadAfter),
		after(o, o.BackAfter),
	}
}

func final(c containers.Cell) string {
	text := fmt.Sprint(c.Final)
	if c.Attempts > 1 {
		text += fmt.Sprintf(" (%d)", c.Attempts)
	}
	if c.Verdict != lab.AsExpected {
		text += fmt.Sprintf(" **%s**: %s", c.Verdict, marked.Cell(c.Why))
	}
	return text
}

func statuses(o containers.Outage) string {
	var all []string
	for _, status := range slices.Sorted(maps.Keys(o.Statuses)) {
		name := fmt.Sprint(status)
		if status == 0 {
			name = "none"
		}
		all = append(all, fmt.Sprintf("%d × %s", o.Statuses[status], name))
	}
	return strings.Join(all, ", ")
}

// after says how long something took, or that it did not happen.
func after(o containers.Outage, d time.Duration) string {
	switch {
	case d > 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case o.Replaced:
		return fmt.Sprintf("**not within %.0f s**", containers.BackWithin.Seconds())
	}
	return "never"
}
