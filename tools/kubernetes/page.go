package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/internal/marked"
	"locklab/lab/burst"
)

// tablesOf returns the tables of docs/kubernetes.md by the names of their blocks.
func tablesOf(all findings, began time.Time, commit string) map[string]string {
	var ready, service, killed [][]string
	for _, r := range all.All {
		ready = append(ready, []string{r.Topology, seconds(r.UpAfter), seconds(r.Ready)})
		for i, row := range r.ByService.Pageview {
			service = append(service, []string{
				r.Topology, row.Version, parts(row), strconv.FormatInt(row.Final, 10), strconv.Itoa(r.ByService.Order[i].Winners),
			})
		}
		o := r.Outage
		killed = append(killed, []string{
			r.Topology, strings.Join(o.Lost, ", "), o.Killed(), strconv.Itoa(len(o.Writes)), strconv.Itoa(o.NoAnswer()),
			strconv.FormatInt(o.Final, 10), strconv.Itoa(o.Views.Lost()), seconds(o.ReadAfter), seconds(o.BackAfter), seconds(o.Whole),
		})
	}
	return map[string]string{
		"run":   fmt.Sprintf("%sTook %s.\n", caption(began, commit), time.Since(began).Round(time.Second)),
		"ready": marked.Table(1, []string{"topology", "three nodes are ready after", "all pods are ready after"}, ready),
		"service": marked.Table(3, []string{
			"topology", "version", "page views of each instance", fmt.Sprintf("final of %d", users), "winners of one order",
		}, service),
		"killed": marked.Table(3, []string{
			"topology", "killed pods", "master of the counter among them", "confirmed", "no answer", "final", "lost", "counter read after",
			"view confirmed after", "all answered after",
		}, killed),
		class: classTables(all.Class, began, commit),
	}
}

// classTables are what the classes that ran have needed, and what a class of 25 participants would need.
func classTables(c Class, began time.Time, commit string) string {
	var ran [][]string
	for _, s := range c.Sizes {
		ran = append(ran, []string{
			strconv.Itoa(s.Participants), strconv.Itoa(s.Labs()), strconv.Itoa(s.Pods), seconds(s.Ready), gib(s.Idle.Memory), gib(s.Loaded),
			gib(s.Programs), fmt.Sprintf("%.2f", s.Idle.Processors), fmt.Sprintf("%.2f", s.Idle.Machine),
			seconds(s.First) + " to " + seconds(s.Last), seconds(s.Removed),
		})
	}
	const participants = 25
	e := c.extrapolate(participants)
	computed := [][]string{
		{"requested by the pods, without load jobs", gib(e.Requested.Memory), fmt.Sprintf("%.1f", e.Requested.Processors)},
		{"allowed by the quotas, with load jobs and more instances", gib(e.Allowed.Memory), fmt.Sprintf("%.1f", e.Allowed.Processors)},
		{"used by the pods and the nodes' programs", gib(e.Used.Memory), fmt.Sprintf("%.1f", e.Used.Processors)},
		{"each further lab uses", gib(e.Each.Memory), fmt.Sprintf("%.2f", e.Each.Processors)},
	}
	if e.Doubt != "" {
		computed = [][]string{{"not computed: " + e.Doubt, "–", "–"}}
	}
	return caption(began, commit) + "\n" + marked.Table(0, []string{
		"participants", "labs", "pods", "ready after", "memory of the pods, no load", "after bursts", "memory of the nodes' programs",
		"processors, pods", "processors, machine", "a burst took", "removed after",
	}, ran) + "\n" + marked.Table(1, []string{
		fmt.Sprintf("%d participants, computed: %d labs, %d pods, %d nodes", participants, e.Labs, e.Pods, e.Nodes), "memory", "processors",
	}, computed)
}

// caption says when something was measured.
func caption(began time.Time, commit string) string {
	return fmt.Sprintf("Measured on %s, tree `%s`.\n", began.UTC().Format("2006-01-02 15:04"), commit)
}

// String is the line of the terminal for a result.
func (r Result) String() string {
	o := r.Outage
	return fmt.Sprintf("%s: as predicted. %s was killed: back after %s, all answered after %s; %d confirmed, %d without an answer, final %d\n",
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
