// Package check judges again what is on the disk: saved runs, and what a load tool wrote.
package check

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/loadtool"
	"locklab/experiments/terminal"
	"locklab/versions"
)

// Result is how everything is judged. `app lab check --json` prints it.
type Result struct {
	Runs    []experiments.Result `json:"runs,omitempty"` // saved ones
	Files   []File               `json:"files,omitempty"`
	Verdict experiments.Verdict  `json:"verdict"` // the worst
}

// File is how a load tool's file is judged. Of a file that shows nothing there is the verdict alone.
type File struct {
	File        string              `json:"file"`
	Tool        string              `json:"tool,omitempty"`
	Kind        loadtool.Kind       `json:"kind,omitempty"`
	Version     string              `json:"version,omitempty"`
	Lock        string              `json:"lock,omitempty"`
	Users       int                 `json:"users,omitempty"`
	NotAnswered int                 `json:"not_answered"` // users without a usable answer
	PerInstance map[string]int      `json:"per_instance,omitempty"`
	Pageview    *burst.Counts       `json:"pageview,omitempty"`
	Order       *Order              `json:"order,omitempty"`
	Time        *Times              `json:"time,omitempty"`
	Verdict     experiments.Verdict `json:"verdict"`
	Why         string              `json:"why,omitempty"` // it is not as expected
}

// Order is what a burst of drivers left.
type Order struct {
	Order   uint64 `json:"order,omitempty"` // its number, where it is known
	Winners int    `json:"winners"`
}

// Times are those of the requests with a usable answer.
type Times struct {
	P50MS float64 `json:"p50_ms"`
	P99MS float64 `json:"p99_ms"`
	MaxMS float64 `json:"max_ms"`
}

// Add judges what is at path: saved runs, or else a load tool's file. An error says why it is neither. find returns the experiment with
// an id.
func (r *Result) Add(path string, find func(id string) (experiments.Experiment, error)) error {
	dir := path
	if d, name := filepath.Split(path); name == experiments.RunFile && experiments.IsRun(filepath.Clean(d)) {
		dir = filepath.Clean(d)
	}
	if runs := experiments.Runs(dir); len(runs) > 0 {
		for _, dir := range runs {
			r.Runs = append(r.Runs, experiments.Result{Saved: experiments.Rejudge(dir, find)})
		}
	} else {
		file, err := judge(path)
		if err != nil {
			return err
		}
		r.Files = append(r.Files, file)
	}
	all := []experiments.Verdict{}
	for _, f := range r.Files {
		all = append(all, f.Verdict)
	}
	if len(r.Runs) > 0 {
		all = append(all, experiments.WorstOf(r.Runs))
	}
	r.Verdict = experiments.Worst(all...)
	return nil
}

func judge(path string) (f File, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return f, fmt.Errorf("%s cannot be read as a saved run: it has no run.json", path)
	}
	r, err := loadtool.Read(path)
	if unreadable := (*fs.PathError)(nil); errors.As(err, &unreadable) {
		return f, fmt.Errorf("%s cannot be read: %w; name saved runs, or files that JMeter or k6 wrote", path, unreadable.Err)
	}
	if err != nil {
		return File{File: path, Why: terminal.OneLine(err.Error())}, nil
	}
	f = File{
		File: path, Tool: r.Tool, Kind: r.Kind, Version: r.Version, Users: r.Users, NotAnswered: len(r.Failed), PerInstance: r.PerInstance,
	}
	if r.Order != nil {
		f.Order = &Order{r.Order.Order, r.Order.Winners()}
	} else {
		counts := r.Pageview.Counts()
		f.Pageview = &counts
	}
	if r.Time != (loadtool.Times{}) {
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		f.Time = &Times{ms(r.Time.P50), ms(r.Time.P99), ms(r.Time.Max)}
	}
	v, ok := versions.Find(r.Version)
	if !ok {
		f.Why = fmt.Sprintf("nothing is claimed of version %.20q; the lab has %s", r.Version, strings.Join(versions.Names(), ", "))
		return f, nil
	}
	o := r.Outcome()
	f.Lock, f.Verdict = v.Title, experiments.Judge(burst.Expect(v), o)
	f.Why = terminal.OneLine(f.Verdict.Because(o))
	return f, nil
}

// Text is the result for people: a table for each kind, and the reasons.
func (r *Result) Text(colour bool) string {
	var parts []string
	if len(r.Runs) > 0 {
		parts = append(parts, "Saved runs, judged again", experiments.RunsTable(r.Runs, colour).String())
		if why := experiments.Evidence(r.Runs, colour); why != "" {
			parts = append(parts, strings.TrimRight(why, "\n"))
		}
	}
	pageviews, orders := r.tables(colour)
	if pageviews.Len() > 0 {
		parts = append(parts, "Simultaneous page views", pageviews.String(),
			" same: values that one process wrote twice · both: values that both wrote · requests: usable answers of each process")
	}
	if orders.Len() > 0 {
		parts = append(parts, "Drivers grab one order simultaneously", orders.String())
	}
	var reasons []string
	for _, f := range r.Files {
		if f.Why != "" {
			reasons = append(reasons, fmt.Sprintf("%s: %s: %s", terminal.Printable(f.File), f.Verdict.Painted(colour), f.Why))
		}
	}
	if len(reasons) > 0 {
		parts = append(parts, strings.Join(reasons, "\n"))
	}
	parts = append(parts, fmt.Sprintf("Verdict: %s. %s\n", r.Verdict.Painted(colour), experiments.Meaning))
	return strings.Join(parts, "\n\n")
}

func (r *Result) tables(colour bool) (pageviews, orders terminal.Table) {
	pageviews = terminal.NewTable("file", "version", "users", "final", "lost", "same", "both", "p50", "p99", "max", "requests", "verdict").
		Right("users", "final", "lost", "same", "both", "p50", "p99", "max")
	orders = terminal.NewTable("file", "version", "users", "winners", "p50", "p99", "max", "requests", "verdict").
		Right("users", "winners", "p50", "p99", "max")
	for _, f := range r.Files {
		p50, p99, longest := f.Time.cells()
		requests, verdict := f.spread(), f.Verdict.Painted(colour)
		if v := f.Pageview; v != nil {
			pageviews.Row(f.File, f.Version, f.Users, v.Final, v.Lost, v.Inside, v.Across, p50, p99, longest, requests, verdict)
		}
		if f.Order != nil {
			orders.Row(f.File, f.Version, f.Users, f.Order.Winners, p50, p99, longest, requests, verdict)
		}
	}
	return pageviews, orders
}

func (t *Times) cells() (p50, p99, longest string) {
	if t == nil {
		return "-", "-", "-"
	}
	return burst.Milliseconds(t.P50MS), burst.Milliseconds(t.P99MS), burst.Milliseconds(t.MaxMS)
}

func (f File) spread() string {
	var counts []string
	for _, instance := range slices.Sorted(maps.Keys(f.PerInstance)) {
		counts = append(counts, fmt.Sprintf("%s: %d", instance, f.PerInstance[instance]))
	}
	return strings.Join(counts, ", ")
}
