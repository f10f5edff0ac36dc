// Package check judges again what is on the disk: saved runs, and what a load tool wrote.
package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/burst/loadtool"
	"locklab/versions"
)

// Result is how everything is judged. `app lab check --json` prints it.
type Result struct {
	Runs    []lab.Result `json:"runs,omitempty"` // saved ones
	Files   []File       `json:"files,omitempty"`
	Verdict lab.Verdict  `json:"verdict"` // the worst
}

// File is how a load tool's file is judged. Of a file that shows nothing there is the verdict alone.
type File struct {
	File        string         `json:"file"`
	Tool        string         `json:"tool,omitempty"`
	Run         string         `json:"run,omitempty"`  // is in no other file
	Began       time.Time      `json:"began,omitzero"` // when the tool began
	Kind        loadtool.Kind  `json:"kind,omitempty"`
	Version     string         `json:"version,omitempty"`
	Lock        string         `json:"lock,omitempty"`
	Users       int            `json:"users,omitempty"`
	NotAnswered int            `json:"not_answered"` // users without a usable answer
	PerInstance map[string]int `json:"per_instance,omitempty"`
	Pageview    *burst.Counts  `json:"pageview,omitempty"`
	Order       *Order         `json:"order,omitempty"`
	Time        *Times         `json:"time,omitempty"`
	Verdict     lab.Verdict    `json:"verdict"`
	Why         string         `json:"why,omitempty"` // it is not as expected
}

// Order is what a burst of drivers left.
type Order struct {
	Order   uint64 `json:"order,omitempty"` // its number, where it is known
	Winners int    `json:"winners"`
}

// Times are those of the requests with a usable answer.
type Times struct {
	P50MS float64 `json:"p50_ms"`
	P99MS float64 `json:"p99_ms,omitempty"` // the machine-readable summary of k6 has none
	MaxMS float64 `json:"max_ms"`
}

// Add judges what is at path: saved runs, or else a load tool's file. An error says why it is neither.
func (r *Result) Add(path string, c lab.Catalogue) error {
	dir := path
	if d, name := filepath.Split(path); name == lab.RunFile && lab.IsRun(filepath.Clean(d)) {
		dir = filepath.Clean(d)
	}
	if runs := lab.Runs(dir); len(runs) > 0 {
		for _, dir := range runs {
			r.Runs = append(r.Runs, lab.Result{Saved: c.Rejudge(dir)})
		}
	} else {
		file, err := read(path)
		if err != nil {
			return err
		}
		r.Files = append(r.Files, file)
	}
	r.judge()
	return nil
}

// judge finds the worst verdict.
func (r *Result) judge() {
	all := []lab.Verdict{}
	for _, f := range r.Files {
		all = append(all, f.Verdict)
	}
	if len(r.Runs) > 0 {
		all = append(all, lab.WorstOf(r.Runs))
	}
	r.Verdict = lab.Worst(all...)
}

// read judges a load tool's file. One that shows nothing is inconclusive.
func read(path string) (f File, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return f, fmt.Errorf("%s cannot be read as a saved run: it has no run.json", path)
	}
	r, err := loadtool.Read(path)
	if unreadable := (*fs.PathError)(nil); errors.As(err, &unreadable) {
		return f, fmt.Errorf("%s cannot be read: %w; name saved runs, or files that JMeter or k6 wrote", path, unreadable.Err)
	}
	if err != nil {
		return File{File: path, Why: lab.OneLine(err.Error())}, nil
	}
	return fileOf(path, r), nil
}

func fileOf(path string, r loadtool.Record) File {
	f := File{
		File: path, Tool: r.Tool, Run: r.Run, Began: r.Began, Kind: r.Kind, Version: r.Version, Users: r.Users,
		NotAnswered: len(r.Failed), PerInstance: r.PerInstance,
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
		return f
	}
	o := r.Outcome()
	f.Lock, f.Verdict = v.Title, lab.Judge(burst.Expect(v), o)
	f.Why = lab.OneLine(f.Verdict.Because(o))
	return f
}
