package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/report/pages"
)

type labPagesCommand struct {
	saved
	Out string `default:"docs" env:"LAB_DOCS" placeholder:"FOLDER" help:"Folder for the pages."`
}

// Run writes the pages.
func (c *labPagesCommand) Run(ctx context.Context, std streams) error {
	all := claims.All()
	runs, err := c.runs(true)
	if err != nil {
		return err
	}
	if lost := pages.Losing(c.Out, all, runs); len(lost) > 0 {
		const says = "nothing is written, since pages would lose results; first: %s lab run %s --out %s"
		return unavailable(fmt.Errorf(says, self(), strings.Join(lost, " "), c.Store))
	}
	made, err := pages.All(ctx, all, runs)
	switch {
	case ctx.Err() != nil:
		return stopped(ctx, err, "nothing is written")
	case errors.Is(err, pages.ErrContradicted):
		return exitError{exitUnexpected, err}
	case err != nil:
		return err
	}
	if err := pages.Write(c.Out, made); err != nil {
		return unavailable(err)
	}
	_, err = fmt.Fprintf(std.out, "%d pages and pictures are written in %s and %s, from %d saved runs\n",
		len(made), c.Out, filepath.Join(c.Out, "experiments"), len(runs))
	return err
}

// saved is the store from whose runs pages are made.
type saved struct {
	Store string `default:"store" env:"LAB_STORE" placeholder:"FOLDER" help:"Folder with the saved runs."`
}

// runs judges the newest run of each experiment again. A store that is not there has none. Pages cannot be written from it:
// they would lose what they say of earlier runs.
func (s saved) runs(toWrite bool) (all []experiments.Saved, err error) {
	switch info, err := os.Stat(s.Store); {
	case err != nil && !os.IsNotExist(err):
		return nil, unavailable(err)
	case err == nil && !info.IsDir():
		return nil, unavailable(fmt.Errorf("%s is no folder; name one with saved runs with --store", s.Store))
	}
	for _, dir := range experiments.Runs(s.Store) {
		all = append(all, claims.All().Rejudge(dir))
	}
	// The newest run of an experiment of this store; the store may be a run itself.
	usable := func(run experiments.Saved) bool {
		return run.Record.Experiment != "" && filepath.Dir(filepath.Dir(run.Dir)) == filepath.Clean(s.Store)
	}
	if toWrite && !slices.ContainsFunc(all, usable) {
		return nil, unavailable(fmt.Errorf("%s holds no saved runs of experiments, and nothing is written; "+
			"make some with %s lab run --all --out %[1]s, or name another folder with --store", s.Store, self()))
	}
	return all, nil
}
