package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"locklab/experiments/burst"
	"locklab/internal/nodeloss"
)

//go:embed page.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"seconds": seconds, "parts": parts, "gib": gib, "join": func(words []string) string { return strings.Join(words, ", ") },
}).Parse(pageText))

// classOf is the part of docs/kubernetes.md with the class, and pageOf all of it.
func classOf(all findings, began time.Time, commit string) (string, error) {
	return executed("class", all, began, commit)
}

func pageOf(all findings, began time.Time, commit string) (string, error) {
	return executed(pageTemplate.Name(), all, began, commit)
}

func executed(name string, all findings, began time.Time, commit string) (string, error) {
	things := []string{"settings of the kernel that a kubelet changes: " + strings.Join(kubeletSettings, ", ")}
	for _, kind := range kinds {
		things = append(things, kind.Name)
	}
	var b strings.Builder
	err := pageTemplate.ExecuteTemplate(&b, name, map[string]any{
		"All": all.All, "Class": all.Class, "Users": users, "Kinds": things, "Versions": lossless(), "Simultaneous": simultaneous,
		"Refused": refused, "PerNode": perNode, "Spare": spare, "Began": began, "Commit": commit, "Reading": nodeloss.Reading,
		"Took": time.Since(began).Round(time.Second),
	})
	return b.String(), err
}

// String is the line of the terminal for a result.
func (r Result) String() string {
	o := r.Outage
	return fmt.Sprintf("%s: as expected. %s was killed: back after %s, all answered after %s; %d confirmed, %d without an answer, final %d\n",
		r.Topology, o.Node, seconds(o.BackAfter), seconds(o.Whole), len(o.Writes), o.NoAnswer(), o.Final)
}

// String has a line of the terminal for each size.
func (c Class) String() (all string) {
	for _, s := range c.Sizes {
		all += fmt.Sprintf(
			"class: %d participants: ready after %s; %s and after bursts %s for pods, %s with the nodes; without load %.2f processors and %.2f\n",
			s.Participants, seconds(s.Ready), gib(s.Idle.Memory), gib(s.Loaded), gib(s.used().Memory), s.Idle.Processors, s.Idle.Machine,
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
