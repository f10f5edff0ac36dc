package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/report"
)

// writeReport writes a report into the folder of each run, and into store one of the newest run of each experiment there. It
// returns the path of the latter; empty: there is nothing new to report.
func writeReport(store string, runs []*labRun) (string, error) {
	var failed error
	written := 0
	for _, run := range runs {
		if run.Saved == "" || run.NotSaved != "" {
			continue
		}
		written++
		failed = errors.Join(failed, writePage(filepath.Join(run.Saved, experiments.ReportFile), func(w io.Writer) error {
			return report.Run(w, run.experiment, run.record, run.Judgement)
		}))
	}
	if written == 0 {
		return "", failed
	}
	entries := newest(store)
	all := filepath.Join(store, experiments.ReportFile)
	return all, errors.Join(failed, writePage(all, func(w io.Writer) error { return report.Lab(w, entries) }))
}

// newest is the newest run of each experiment in store, judged again, in the order of the catalogue. What is not even known to
// be a run of one is left to lab check.
func newest(store string) (entries []report.Entry) {
	found := make(map[string]report.Entry)
	for _, dir := range experiments.Runs(store) {
		s := experiments.Rejudge(dir, claims.Find)
		found[s.Experiment.ID] = report.Entry{Experiment: s.Experiment, Record: s.Record, Judgement: s.Judgement}
	}
	for _, e := range claims.All() {
		if entry, there := found[e.ID]; there {
			entries = append(entries, entry)
		}
	}
	return entries
}

func writePage(path string, write func(io.Writer) error) error {
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	return os.WriteFile(path, page.Bytes(), 0o644)
}
