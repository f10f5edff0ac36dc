package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"

	"locklab/experiments"
	"locklab/experiments/loadtool"
)

// labCheckCommand holds the settings of lab check.
type labCheckCommand struct {
	Files []string `arg:"" name:"file" help:"What the load tool wrote: jmeter -n -f -t PLAN -l FILE, k6 run -e SUMMARY=FILE or k6 run --summary-export=FILE."`
	JSON  bool     `name:"json" help:"Print the results as JSON, for programs."`
}

// checkResult is how all files are judged; --json prints it.
type checkResult struct {
	Files   []checkedFile       `json:"files"`
	Verdict experiments.Verdict `json:"verdict"` // the worst
}

// checkedFile is how one is judged. Of a file that shows nothing there is the verdict alone.
type checkedFile struct {
	File        string              `json:"file"`
	Tool        string              `json:"tool,omitempty"`
	Kind        loadtool.Kind       `json:"kind,omitempty"`
	Version     string              `json:"version,omitempty"`
	Lock        string              `json:"lock,omitempty"`
	Users       int                 `json:"users,omitempty"`
	NotAnswered int                 `json:"not_answered"` // users without a usable answer
	PerInstance map[string]int      `json:"per_instance,omitempty"`
	Pageview    *checkedViews       `json:"pageview,omitempty"`
	Order       *checkedOrder       `json:"order,omitempty"`
	Time        *checkedTimes       `json:"time,omitempty"`
	Verdict     experiments.Verdict `json:"verdict"`
	Why         string              `json:"why,omitempty"` // it is not supported
}

type checkedViews struct {
	Final  int64 `json:"final"`
	Lost   int   `json:"lost"`
	Inside int   `json:"written_twice_inside_one"`
	Across int   `json:"written_twice_across_both"`
}

type checkedOrder struct {
	Order   uint64 `json:"order,omitempty"` // its number, where it is known
	Winners int    `json:"winners"`
}

type checkedTimes struct {
	P50MS float64 `json:"p50_ms"`
	P99MS float64 `json:"p99_ms"`
	MaxMS float64 `json:"max_ms"`
}

// Run judges every file and prints what it shows.
func (c *labCheckCommand) Run(ctx context.Context, std streams) error {
	result := &checkResult{}
	var verdicts []experiments.Verdict
	for _, name := range c.Files {
		if ctx.Err() != nil {
			return exitError{exitInterrupted, errors.New("interrupted: nothing is judged")}
		}
		record, err := loadtool.Read(name)
		if unreadable := (*fs.PathError)(nil); errors.As(err, &unreadable) {
			return misuse("%s cannot be read: %w; name files that JMeter or k6 wrote", name, unreadable.Err)
		}
		file := checkedFile{File: name}
		if err != nil {
			file.Why = oneLine(err.Error())
		} else {
			file.judge(record)
		}
		result.Files, verdicts = append(result.Files, file), append(verdicts, file.Verdict)
	}
	result.Verdict = experiments.Worst(verdicts...)
	if err := result.print(c.JSON, std); err != nil {
		return err
	}
	return result.exit()
}

// judge compares the record with what is claimed of its version.
func (f *checkedFile) judge(r loadtool.Record) {
	f.Tool, f.Kind, f.Version, f.Users, f.PerInstance = r.Tool, r.Kind(), r.Version(), r.Users(), r.PerInstance()
	f.NotAnswered = len(r.Failed())
	if r.Order != nil {
		f.Order = &checkedOrder{r.Order.Order, r.Order.Winners()}
	} else {
		b := r.Pageview
		f.Pageview = &checkedViews{b.Final, b.Lost(), b.Inside(), b.Across()}
	}
	if r.Time != (loadtool.Times{}) {
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		f.Time = &checkedTimes{ms(r.Time.P50), ms(r.Time.P99), ms(r.Time.Max)}
	}
	claim, ok := experiments.ClaimOf(r.Version())
	if !ok {
		f.Why = fmt.Sprintf("nothing is claimed of version %.20q; the lab has v0 to v4", r.Version())
		return
	}
	o := r.Outcome()
	f.Lock, f.Verdict = claim.Lock, experiments.Judge(claim.Expect, o)
	f.Why = oneLine(f.Verdict.Because(o))
}

// oneLine joins what joined errors have in a line each.
func oneLine(text string) string { return printable(strings.ReplaceAll(text, "\n", "; ")) }

// printable keeps what a file contains from steering the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// exit says with the program's exit status what the worst verdict is; the reasons have been printed.
func (r *checkResult) exit() error {
	switch r.Verdict {
	case experiments.Supported:
		return nil
	case experiments.Refuted:
		return exitError{exitRefuted, nil}
	}
	return exitError{exitInconclusive, nil}
}

// print writes the results the way that was asked for.
func (r *checkResult) print(asJSON bool, std streams) error {
	if asJSON {
		encoder := json.NewEncoder(std.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	_, err := fmt.Fprint(std.out, r.text(colours(std.out)))
	return err
}

// text is the result for people: a table for each kind, and the reasons.
func (r *checkResult) text(colour bool) string {
	var parts []string
	if views := r.table(loadtool.Pageview, colour); views != "" {
		parts = append(parts, "Page views at once\n\n"+views+"\n\n same: values that one process wrote twice · both: values that both wrote · requests: usable answers of each process")
	}
	if orders := r.table(loadtool.Order, colour); orders != "" {
		parts = append(parts, "Drivers grab one order at once\n\n"+orders)
	}
	var reasons []string
	for _, f := range r.Files {
		if f.Why != "" {
			reasons = append(reasons, fmt.Sprintf("%s: %s: %s", printable(f.File), painted(f.Verdict, colour), f.Why))
		}
	}
	if len(reasons) > 0 {
		parts = append(parts, strings.Join(reasons, "\n"))
	}
	parts = append(parts, fmt.Sprintf("Verdict: %s. \"Supported\" means: not broken in this run, or broken where that was claimed.\n", painted(r.Verdict, colour)))
	return strings.Join(parts, "\n\n")
}

// table has a row for each file of one kind; it is empty when there is none.
func (r *checkResult) table(kind loadtool.Kind, colour bool) string {
	t := newTable()
	counts := []string{"winners"}
	if kind == loadtool.Pageview {
		counts = []string{"final", "lost", "same", "both"}
	}
	numbers := slices.Concat([]string{"users"}, counts, []string{"p50", "p99", "max"})
	header := slices.Concat([]string{"file", "version"}, numbers, []string{"requests", "verdict"})
	t.AppendHeader(row(header...))
	t.SetColumnConfigs(right(numbers...))
	for _, f := range r.Files {
		if f.Kind == kind {
			cells := slices.Concat([]string{f.File, f.Version, fmt.Sprint(f.Users)}, f.counts(), f.Time.cells(), []string{named(f.PerInstance)})
			t.AppendRow(append(row(cells...), painted(f.Verdict, colour)))
		}
	}
	if t.Length() == 0 {
		return ""
	}
	return render(t)
}

func row(cells ...string) table.Row {
	var all table.Row
	for _, c := range cells {
		all = append(all, printable(c))
	}
	return all
}

// counts are what the kind of burst is about.
func (f checkedFile) counts() []string {
	if f.Order != nil {
		return []string{fmt.Sprint(f.Order.Winners)}
	}
	v := f.Pageview
	return []string{fmt.Sprint(v.Final), fmt.Sprint(v.Lost), fmt.Sprint(v.Inside), fmt.Sprint(v.Across)}
}

func (t *checkedTimes) cells() []string {
	if t == nil {
		return []string{"-", "-", "-"}
	}
	return []string{took(t.P50MS), took(t.P99MS), took(t.MaxMS)}
}

// named shows how the requests were spread, with the instances' names.
func named(perInstance map[string]int) string {
	var counts []string
	for _, instance := range slices.Sorted(maps.Keys(perInstance)) {
		counts = append(counts, fmt.Sprintf("%s: %d", instance, perInstance[instance]))
	}
	return strings.Join(counts, ", ")
}
