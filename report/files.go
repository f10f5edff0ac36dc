package report

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"locklab/experiments"
)

// Write writes a report into the folder of each run, and into store one of the newest run of each experiment there. all is the catalogue
// and find its lookup. It returns the path of the latter, or "" when no run was saved.
func Write(
	store string, runs []experiments.Result, all []experiments.Experiment, find func(id string) (experiments.Experiment, error),
) (string, error) {
	var failed error
	written := 0
	for _, run := range runs {
		if run.Dir == "" || run.NotSaved != "" {
			continue
		}
		written++
		failed = errors.Join(failed, writePage(run.Dir, func(w io.Writer) error { return Run(w, run.Saved) }))
	}
	if written == 0 {
		return "", failed
	}
	failed = errors.Join(failed, writePage(store, func(w io.Writer) error { return Lab(w, newest(store, all, find)) }))
	return filepath.Join(store, experiments.ReportFile), failed
}

// newest is the newest run of each experiment in store, judged again, in the order of the catalogue. A run of an unknown experiment is
// left to lab check.
func newest(store string, all []experiments.Experiment, find func(id string) (experiments.Experiment, error)) (runs []experiments.Saved) {
	found := make(map[string]experiments.Saved)
	for _, dir := range experiments.Runs(store) {
		s := experiments.Rejudge(dir, find)
		found[s.Experiment.ID] = s
	}
	for _, e := range all {
		if run, there := found[e.ID]; there {
			runs = append(runs, run)
		}
	}
	return runs
}

func writePage(dir string, write func(io.Writer) error) error {
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, experiments.ReportFile), page.Bytes(), 0o644)
}
