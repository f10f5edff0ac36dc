package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"locklab/experiments"
	"locklab/report"
)

// writeReport writes a report into the folder of each run, and one of all of them into store. It returns the path of the
// latter; empty: there is nothing to report.
func writeReport(store string, runs []*labRun) (string, error) {
	var entries []report.Entry
	var failed error
	for _, run := range runs {
		if run.Saved == "" || run.NotSaved != "" {
			continue
		}
		entry := report.Entry{Experiment: run.experiment, Record: run.record, Judgement: run.Judgement}
		entries = append(entries, entry)
		failed = errors.Join(failed, writePage(filepath.Join(run.Saved, experiments.ReportFile), func(w io.Writer) error {
			return report.Run(w, entry.Experiment, entry.Record, entry.Judgement)
		}))
	}
	if len(entries) == 0 {
		return "", failed
	}
	all := filepath.Join(store, experiments.ReportFile)
	return all, errors.Join(failed, writePage(all, func(w io.Writer) error { return report.Lab(w, entries) }))
}

func writePage(path string, write func(io.Writer) error) error {
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	return os.WriteFile(path, page.Bytes(), 0o644)
}
