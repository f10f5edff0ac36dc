// Package topologies writes the page that compares the Redis topologies, versions and load tools in containers.
package topologies

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"

	"locklab/experiments"
	"locklab/experiments/containers"
	"locklab/experiments/loadtool"
	"locklab/internal/marked"
	"locklab/versions"
)

//go:embed page.md.tmpl
var pageSource string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"join":     strings.Join,
	"seconds":  func(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) },
	"minutes":  func(d time.Duration) string { return fmt.Sprintf("%.0f minutes", d.Minutes()) },
	"versions": byVersion,
	"statuses": statuses,
	"readable": func(o containers.Outage) string { return after(o, o.ReadAfter) },
	"back":     func(o containers.Outage) string { return after(o, o.BackAfter) },
	"machine":  machine,
}).Parse(pageSource))

// Page writes what was seen in Markdown: the part of docs/topologies.md that no hand writes.
func Page(w io.Writer, r *containers.Result) error { return page.Execute(w, r) }

// machine is where it ran.
func machine() string {
	return fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// row is what a version showed: the final value with each tool, and then the winners.
type row struct {
	Claim versions.Version
	Cells []string
	Agree bool
}

// byVersion joins the page views and the order of each version. A dash is in place of what was not run.
func byVersion(t containers.Topology, tools int) (all []row) {
	for _, of := range t.Rows {
		at := slices.IndexFunc(all, func(r row) bool { return r.Claim.Name == of.Claim.Name })
		if at < 0 {
			at, all = len(all), append(all, row{Claim: of.Claim, Cells: slices.Repeat([]string{"–"}, 2*tools), Agree: true})
		}
		first := 0
		if of.Kind == loadtool.Order {
			first = tools
		}
		for i, c := range of.Cells {
			all[at].Cells[first+i] = final(c)
		}
		all[at].Agree = all[at].Agree && of.Agree()
	}
	return all
}

func final(c containers.Cell) string {
	text := fmt.Sprint(c.Final())
	if c.Attempts > 1 {
		text += fmt.Sprintf(" (%d)", c.Attempts)
	}
	if c.Verdict != experiments.AsExpected {
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
