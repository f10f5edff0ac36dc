package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"locklab/experiments/burst"
)

//go:embed page.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"seconds": seconds, "parts": parts, "join": func(words []string) string { return strings.Join(words, ", ") },
}).Parse(pageText))

// pageOf is docs/kubernetes.md.
func pageOf(all []Result, began time.Time, commit string) (string, error) {
	things := []string{"settings of the kernel that a kubelet changes: " + strings.Join(kubeletSettings, ", ")}
	for _, kind := range kinds {
		things = append(things, kind.name)
	}
	var b strings.Builder
	err := pageTemplate.Execute(&b, map[string]any{
		"All": all, "Users": users, "Kinds": things, "Began": began, "Commit": commit, "Took": time.Since(began).Round(time.Second),
	})
	return b.String(), err
}

// text is what the terminal shows of a result.
func (r Result) text() string {
	o := r.Outage
	return fmt.Sprintf("%s: as expected. %s was killed: back after %s, all answered after %s; %d confirmed, %d without an answer, final %d\n",
		r.Topology, o.Node, seconds(o.BackAfter), seconds(o.Whole), len(o.Writes), len(o.Failed), o.Final)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// parts are the page views of each instance.
func parts(row burst.PageviewRow) string {
	var all []string
	for name, n := range row.PerInstance {
		all = append(all, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
