package main

import (
	"fmt"
	"strings"
	"time"

	"locklab/internal/marked"
)

// tablesOf returns the tables of README.md by the names of their blocks.
func tablesOf(all []Result, began time.Time, commit string) map[string]string {
	return map[string]string{
		"run": fmt.Sprintf("Measured on %s, tree `%s`.\nTook %s.\n", began.UTC().Format("2006-01-02 15:04"), commit,
			time.Since(began).Round(time.Second)),
		"ready": marked.Table(1, []string{"topology", "Swarm of two engines after", "all services after", "versions, all as predicted"},
			rowsOf(all, start)),
		"killed": marked.Table(4, []string{
			"topology", "killed tasks", "master of the counter among them", "started on the other engine", "confirmed", "no answer", "final", "lost",
			"counter read after", "view confirmed after", "all answered after",
		}, rowsOf(all, end)),
	}
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

// String is the line of the terminal for a result.
func (r Result) String() string {
	l := r.Loss
	return fmt.Sprintf("%s: as predicted. %s was killed: back after %s, all answered after %s; %d confirmed, %d without an answer, final %d\n",
		r.Topology, second, seconds(l.BackAfter), seconds(l.Whole), len(l.Writes), l.NoAnswer(), l.Final)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
