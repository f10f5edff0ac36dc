package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"locklab/experiments"
	"locklab/history"
)

// text is the result for people: a table of verdicts, the evidence, and how to repeat it.
func (r *labResult) text(colour bool) string {
	var b strings.Builder
	if len(r.Runs) == 1 && r.Runs[0].Claim != "" {
		fmt.Fprintf(&b, "%s\n\n", wrapped(r.Runs[0].Claim, width))
	}
	b.WriteString(runsTable(r.Runs, colour) + "\n\n")
	b.WriteString(runsReasons(r.Runs, colour, len(r.Runs) == 1))
	if len(r.Runs) > 1 {
		b.WriteString(r.times() + "\n\n")
	}
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(&b, "Left out, for they run %s: %s\n\n", r.elsewhere, strings.Join(r.LeftOut, ", "))
	}
	for _, run := range r.Runs {
		if run.Saved != "" && run.NotSaved == "" {
			fmt.Fprintf(&b, "Saved:   %s\n", run.Saved)
		}
	}
	if r.Report != "" {
		fmt.Fprintf(&b, "Report:  %s\n", r.Report)
	}
	fmt.Fprintf(&b, "Again:   %s\n", r.Command)
	fmt.Fprintf(&b, "Verdict: %s (%.1f s, Redis: %s). \"As expected\" means: no violation in this run, or one where it was expected.\n", painted(r.Verdict, colour), r.Took, r.Redis)
	return b.String()
}

// runsTable has a row for each arm.
func runsTable(runs []*labRun, colour bool) string {
	t := newTable()
	t.AppendHeader(table.Row{"experiment", "arm", "expected", "seen", "time", "verdict"})
	t.SetColumnConfigs(right("time"))
	for _, run := range runs {
		if len(run.Variants) == 0 {
			t.AppendRow(append(row(cmp.Or(run.Experiment, run.Saved), "", "", "", ""), painted(run.Verdict, colour)))
			continue
		}
		for i, a := range run.Variants {
			name := ""
			if i == 0 {
				name = run.Experiment
			}
			seconds := fmt.Sprintf("%.1f s", run.record.TookBy(a.Name).Seconds())
			t.AppendRow(append(row(name, armName(a.Name, a.Control), a.Expect.String(), a.Seen(), seconds), painted(a.Verdict, colour)))
		}
	}
	return render(t)
}

// runsReasons says why a verdict is not as expected, and draws the evidence; with all it draws the witnesses as well.
func runsReasons(runs []*labRun, colour, all bool) string {
	var b strings.Builder
	for _, run := range runs {
		name := printable(cmp.Or(run.Experiment, run.Saved))
		if run.Why != "" {
			fmt.Fprintf(&b, "%s: %s: %s\n", name, painted(run.Verdict, colour), oneLine(run.Why))
		}
		for _, a := range run.Variants {
			if a.Violation == nil || !all && run.Verdict == experiments.AsExpected {
				continue
			}
			fmt.Fprintf(&b, "%s, %s: %s\n\n%s\n", name, printable(a.Name), printable(a.Violation.What), printableLines(history.Timelines(a.Evidence)))
		}
	}
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n\n") {
		b.WriteString("\n")
	}
	return b.String()
}

// printableLines is printable for text of several lines.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// times says where the time went, the longest first.
func (r *labResult) times() string {
	runs := slices.Clone(r.Runs)
	slices.SortStableFunc(runs, func(a, b *labRun) int { return cmp.Compare(b.Took, a.Took) })
	t := newTable()
	t.AppendHeader(table.Row{"where the time went", "s", "usual"})
	t.SetColumnConfigs(right("s", "usual"))
	for _, run := range runs {
		t.AppendRow(table.Row{run.Experiment, fmt.Sprintf("%.1f", run.Took), fmt.Sprintf("%.0f", run.experiment.Takes.Seconds())})
	}
	t.AppendRow(table.Row{"all", fmt.Sprintf("%.1f", r.Took), ""})
	return render(t)
}
