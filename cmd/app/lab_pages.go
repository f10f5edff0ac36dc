package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/report/pages"
)

type labPagesCommand struct {
	savedRuns
	Out string `default:"docs" env:"LAB_DOCS" placeholder:"FOLDER" help:"Folder to write the pages to."`
}

// Run writes the pages, unless a page would lose a result that it shows.
func (c *labPagesCommand) Run(ctx context.Context, std streams) error {
	all := claims.All()
	runs, err := c.load(true)
	if err != nil {
		return err
	}
	if lost := pages.Losing(c.Out, all, runs); len(lost) > 0 {
		return unavailable(fmt.Errorf("nothing was written, because pages would lose results; first run %s lab run %s --out %s",
			self(), strings.Join(lost, " "), c.Store))
	}
	made, err := pages.All(ctx, all, runs)
	switch {
	case ctx.Err() != nil:
		return commandError(ctx, err, "nothing was written")
	case errors.Is(err, pages.ErrContradicted):
		return exitError{exitUnexpected, err}
	case err != nil:
		return err
	}
	if err := pages.Write(c.Out, made); err != nil {
		return unavailable(err)
	}
	_, err = fmt.Fprintf(std.out, "Wrote %d pages and pictures to %s and %s from %d saved runs.\n",
		len(made), c.Out, filepath.Join(c.Out, "experiments"), len(runs))
	return err
}

// savedRuns has the flag of commands that make pages from saved runs.
type savedRuns struct {
	Store string `default:"store" env:"LAB_STORE" placeholder:"FOLDER" help:"Folder that contains the saved runs."`
}

// load returns the newest run of each experiment, judged again. A store that does not exist has no runs. If mustHave is set, that is an
// error: pages without runs would lose the results of earlier ones.
func (s savedRuns) load(mustHave bool) (all []lab.Saved, err error) {
	switch info, err := os.Stat(s.Store); {
	case err != nil && !os.IsNotExist(err):
		return nil, unavailable(err)
	case err == nil && !info.IsDir():
		return nil, unavailable(fmt.Errorf("%s is not a folder; set --store to a folder with saved runs", s.Store))
	}
	for _, dir := range lab.Runs(s.Store) {
		all = append(all, claims.All().Rejudge(dir))
	}
	usable := func(run lab.Saved) bool { // s.Store may be the folder of a single run
		return run.Record.Experiment != "" && filepath.Dir(filepath.Dir(run.Dir)) == filepath.Clean(s.Store)
	}
	if mustHave && !slices.ContainsFunc(all, usable) {
		return nil, unavailable(fmt.Errorf("nothing was written: %s has no saved runs; "+
			"run %s lab run --all --out %[1]s, or set --store to another folder", s.Store, self()))
	}
	return all, nil
}
