package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"locklab/experiments"
	"locklab/experiments/claims"
)

// saved is where the runs are from which pages are made.
type saved struct {
	Store string `default:"store" env:"LAB_STORE" placeholder:"FOLDER" help:"Where runs are saved (${default})."`
}

// runs judges the newest run of each experiment again. A store that is not there has none, which is an error where pages are to be
// written: they would lose what they say of the runs that were there once.
func (s saved) runs(toWrite bool) (all []experiments.Saved, err error) {
	switch info, err := os.Stat(s.Store); {
	case err != nil && !os.IsNotExist(err):
		return nil, unavailable(err)
	case err == nil && !info.IsDir():
		return nil, unavailable(fmt.Errorf("%s is no folder; name one with saved runs with --store", s.Store))
	}
	for _, dir := range experiments.Runs(s.Store) {
		all = append(all, experiments.Rejudge(dir, claims.Find))
	}
	if toWrite && !slices.ContainsFunc(all, s.holds) {
		return nil, unavailable(fmt.Errorf("%s holds no saved runs of experiments, and nothing is written; make some with %s lab run --all --out %[1]s, or name another folder with --store", s.Store, self()))
	}
	return all, nil
}

// holds reports whether a run that can be read is the newest of an experiment of the store, and the store no run itself.
func (s saved) holds(run experiments.Saved) bool {
	return run.Record.Experiment != "" && filepath.Dir(filepath.Dir(run.Dir)) == filepath.Clean(s.Store)
}
