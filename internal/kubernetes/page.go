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
	"seconds": seconds, "parts": parts, "gib": gib, "join": func(words []string) string { return strings.Join(words, ", ") },
}).Parse(pageText))

// pageOf is docs/kubernetes.md.
func pageOf(all findings, began time.Time, commit string) (string, error) {
	things := []string{"settings of the kernel that a kubelet changes: " + strings.Join(kubeletSettings, ", ")}
	for _, kind := range kinds {
		things = append(things, kind.Name)
	}
	var b strings.Builder
	err := pageTemplate.Execute(&b, map[string]any{
		"All": all.All, "Class": all.Class, "Users": users, "Kinds": things, "Began": began, "Commit": commit,
		"Took": time.Since(began).Round(time.Second),
	})
	return b.String(), err
}

// text is what the terminal shows of a result.
func (r Result) text() string {
	o := r.Outage
	return fmt.Sprintf("%s: as expected. %s was killed: back after %s, all answered after %s; %d confirmed, %d without an answer, final %d\n",
		r.Topology, o.Node, seconds(o.BackAfter), seconds(o.Whole), len(o.Writes), len(o.Failed), o.Final)
}

// text is what the terminal shows of a class.
func (c Class) text() (all string) {
	for _, s := range c.Sizes {
		all += fmt.Sprintf(
			"class: %d participants: ready after %s; %s, and %s after bursts; without load %.2f processors for pods, %.2f in all\n",
			s.Participants, seconds(s.Ready), gib(s.Idle.Memory), gib(s.Loaded), s.Idle.Processors, s.Idle.Machine,
		)
	}
	return all
}

func gib(bytes int64) string { return fmt.Sprintf("%.2f GiB", float64(bytes)/(1<<30)) }

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
