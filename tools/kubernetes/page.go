package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/internal/marked"
	"locklab/lab/burst"
)

// tablesOf returns the tables of docs/kubernetes.md that the results fill, by the names of their blocks.
func tablesOf(all []Result, at time.Time, commit string) map[string]string {
	tables := map[string]string{}
	measured := fmt.Sprintf("Measured on %s, tree `%s`.\n", at.UTC().Format("2006-01-02 15:04"), commit)
	var ready, service, killed [][]string
	for _, r := range all {
		if r.Name == class {
			tables[class] = measured + "\n" + classTable(r)
			continue
		}
		ready = append(ready, []string{r.Name, seconds(r.UpAfter), seconds(r.Ready)})
		for i, row := range r.ByService.Pageview {
			service = append(service, []string{
				r.Name, row.Version, parts(row), strconv.FormatInt(row.Final, 10), strconv.Itoa(r.ByService.Order[i].Winners),
			})
		}
		o := r.Outage
		killed = append(killed, []string{
			r.Name, strings.Join(o.Pods, ", "), cmp.Or(o.Master, "none"), strconv.Itoa(len(o.Writes)), strconv.Itoa(o.noAnswer()),
			strconv.FormatInt(o.Final, 10), strconv.Itoa(o.Lost()), seconds(o.ReadAfter), seconds(o.BackAfter), seconds(o.Whole),
		})
	}
	if len(ready) == 0 {
		return tables
	}
	tables["run"] = measured
	tables["ready"] = marked.Table(1, []string{"topology", "three nodes are ready after", "all pods are ready, after that"}, ready)
	tables["service"] = marked.Table(3, []string{
		"topology", "version", "page views of each instance", fmt.Sprintf("final of %d", users), "winners of one order",
	}, service)
	tables["killed"] = marked.Table(3, []string{
		"topology", "killed pods", "master of the counter among them", "confirmed", "no answer", "final", "lost", "counter read after",
		"view confirmed after", "all answered after",
	}, killed)
	return tables
}

// classTable is what the class has needed that ran, and what one of 25 participants would request: each lab requests the same.
func classTable(r Result) string {
	c := r.Class
	row := func(title string, labs int) []string {
		return []string{
			title, strconv.Itoa(labs), strconv.Itoa(c.Pods / c.Labs * labs),
			gib(c.Requested.Memory * float64(labs)), fmt.Sprintf("%.1f", c.Requested.Processors*float64(labs)),
		}
	}
	ran, computed := row(fmt.Sprintf("%d, ran", participants), c.Labs), row("25, computed", 26)
	ran = append(ran, gib(c.Used.Memory), fmt.Sprintf("%.2f", c.Used.Processors), seconds(r.Ready),
		seconds(c.First)+" to "+seconds(c.Last), seconds(c.Removed))
	return marked.Table(1, []string{
		"participants", "labs", "pods", "requested memory", "requested processors", "used memory, after bursts", "used processors, no load",
		"ready after", "a burst took", "removed after",
	}, [][]string{ran, append(computed, slices.Repeat([]string{"–"}, 5)...)})
}

func gib(bytes float64) string { return fmt.Sprintf("%.2f GiB", bytes/(1<<30)) }

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
