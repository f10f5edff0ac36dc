package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/claims"
	"locklab/experiments/loadtool"
	"locklab/versions"
)

// labCheckCommand holds the settings of lab check.
type labCheckCommand struct {
	Files []string `arg:"" name:"path" help:"A saved run: its folder, store/ID for the newest, store for all. Or what a load tool wrote: jmeter -n -f -t PLAN -l FILE, or k6 run -e SUMMARY=FILE."`
	JSON  bool     `name:"json" help:"Print the results as JSON, for programs."`
}

// checkResult is how all files are judged; --json prints it.
type checkResult struct {
	Runs    []*labRun           `json:"runs,omitempty"` // saved ones
	Files   []checkedFile       `json:"files,omitempty"`
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
	Why         string              `json:"why,omitempty"` // it is not as expected
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

// Run judges every file and every saved run, and prints what they show.
func (c *labCheckCommand) Run(ctx context.Context, std streams) error {
	result := &checkResult{}
	for _, name := range c.Files {
		if ctx.Err() != nil {
			return exitError{exitInterrupted, errors.New("interrupted: nothing is judged")}
		}
		if runs := savedRuns(name); len(runs) > 0 {
			result.Runs = append(result.Runs, runs...)
			continue
		}
		file, err := checkFile(name)
		if err != nil {
			return err
		}
		result.Files = append(result.Files, file)
	}
	result.sumUp()
	if err := result.print(c.JSON, std); err != nil {
		return err
	}
	return judgedExit(result.Verdict)
}

// savedRuns judges again what is saved at a path; of a path that is no saved run there are none.
func savedRuns(path string) (all []*labRun) {
	if dir, name := filepath.Split(path); name == experiments.RunFile && experiments.IsRun(filepath.Clean(dir)) {
		path = filepath.Clean(dir)
	}
	for _, dir := range experiments.Runs(path) {
		saved := experiments.Rejudge(dir, claims.Find)
		run := newRun(saved.Experiment, saved.Record, saved.Judgement)
		run.Saved = dir
		all = append(all, run)
	}
	return all
}

// checkFile judges what a load tool left.
func checkFile(name string) (file checkedFile, err error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return file, misuse("%s cannot be read as a saved run: it has no run.json", name)
	}
	record, err := loadtool.Read(name)
	if unreadable := (*fs.PathError)(nil); errors.As(err, &unreadable) {
		return file, misuse("%s cannot be read: %w; name saved runs, or files that JMeter or k6 wrote", name, unreadable.Err)
	}
	file = checkedFile{File: name}
	if err != nil {
		file.Why = oneLine(err.Error())
	} else {
		file.judge(record)
	}
	return file, nil
}

// sumUp finds the worst verdict.
func (r *checkResult) sumUp() {
	var all []experiments.Verdict
	for _, f := range r.Files {
		all = append(all, f.Verdict)
	}
	for _, run := range r.Runs {
		all = append(all, run.Verdict)
	}
	r.Verdict = experiments.Worst(all...)
}

// judge compares the record with what is claimed of its version.
func (f *checkedFile) judge(r loadtool.Record) {
	f.Tool, f.Kind, f.Version, f.Users, f.PerInstance = r.Tool, r.Kind, r.Version, r.Users, r.PerInstance
	f.NotAnswered = len(r.Failed)
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
	claim, ok := versions.Find(r.Version)
	if !ok {
		f.Why = fmt.Sprintf("nothing is claimed of version %.20q; the lab has v0 to v4", r.Version)
		return
	}
	o := r.Outcome()
	f.Lock, f.Verdict = claim.Title, experiments.Judge(burst.Expect(claim), o)
	f.Why = oneLine(f.Verdict.Because(o))
}
