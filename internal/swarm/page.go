package main

import (
	"fmt"
	"strings"
	"time"

	"locklab/internal/marked"
	"locklab/internal/nodeloss"
)

// Sentences after the tables.
const (
	killing = `
Then a burst of %d page views with v3 was sent, and further ones until some got no answer. Meanwhile the second engine lost its network,
and each of its processes was killed: dockerd, containerd and those of its containers.

`
	left = `
Nothing of this was left on the machine. After each topology the run compared with the time before:

- %s
- settings of the kernel

Run by ` + "`make swarm` on %s, tree `%s`, in %s.\n"
)

// block is the part of README.md that a run writes.
func block(all []Result, began time.Time, commit string) string {
	var b strings.Builder
	before := []string{"topology", "Swarm of two engines after", "all services after", "versions, all as expected"}
	b.WriteString(marked.Table(1, before, rowsOf(all, start)))
	fmt.Fprintf(&b, killing, users)
	after := []string{
		"topology", "killed tasks", "master of the counter among them", "started on the other engine", "confirmed", "no answer", "final", "lost",
		"counter read after", "view confirmed after", "all answered after",
	}
	b.WriteString(marked.Table(4, after, rowsOf(all, end)))
	b.WriteString("\n" + nodeloss.Reading)
	fmt.Fprintf(&b, left, strings.Join(names(), "\n- "), began.UTC().Format("2006-01-02 15:04"), commit,
		time.Since(began).Round(time.Second))
	return b.String()
}

func rowsOf(all []Result, row func(Result) []string) (rows [][]string) {
	for _, r := range all {
		rows = append(rows, row(r))
	}
	return rows
}

// start is a topology before the loss.
func start(r Result) []string {
	var sent []string
	for _, row := range r.Bursts.Pageview {
		sent = append(sent, row.Version)
	}
	return []string{r.Topology, seconds(r.UpAfter), seconds(r.Ready), strings.Join(sent, ", ")}
}

// end is the loss of an engine.
func end(r Result) []string {
	l := r.Loss
	return []string{
		r.Topology, strings.Join(r.Lost, ", "), l.Killed(), strings.Join(r.Replaced, ", "), fmt.Sprint(len(l.Writes)), fmt.Sprint(l.NoAnswer()),
		fmt.Sprint(l.Final), fmt.Sprint(l.Lost()), seconds(l.ReadAfter), seconds(l.BackAfter), seconds(l.Whole),
	}
}

func names() (all []string) {
	for _, kind := range kinds {
		all = append(all, kind.Name)
	}
	return all
}

// String is the line of the terminal for a result.
func (r Result) String() string {
	l := r.Loss
	return fmt.Sprintf("%s: as expected. %s was killed: back after %s, all answered after %s; %d confirmed, %d without an answer, final %d\n",
		r.Topology, second, seconds(l.BackAfter), seconds(l.Whole), len(l.Writes), l.NoAnswer(), l.Final)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
