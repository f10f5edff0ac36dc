package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"locklab/experiments/claims"
	"locklab/experiments/pages"
)

// labPagesCommand holds the settings of lab pages.
type labPagesCommand struct {
	saved
	Out   string `default:"docs" env:"LAB_DOCS" placeholder:"FOLDER" help:"Where the pages are written (${default})."`
	Check bool   `help:"Write nothing; say which experiment has no page, and which page no experiment."`
}

// Run writes the pages, or looks whether they are all there.
func (c *labPagesCommand) Run(ctx context.Context, std streams) error {
	all := claims.All()
	if c.Check {
		if err := pages.Check(c.Out, all); err != nil {
			return exitError{exitRefuted, fmt.Errorf("%w; make pages writes them", err)}
		}
		_, err := fmt.Fprintf(std.out, "%d experiments have their pages\n", len(all))
		return err
	}
	runs, err := c.runs(true)
	if err != nil {
		return err
	}
	made, err := pages.All(ctx, all, runs)
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, errors.New("interrupted: nothing is written")}
	case errors.Is(err, pages.ErrContradicted):
		return exitError{exitRefuted, err}
	case err != nil:
		return err
	}
	if err := pages.Write(c.Out, made); err != nil {
		return unavailable(err)
	}
	_, err = fmt.Fprintf(std.out, "%d pages are written in %s and %s, from %d saved runs\n", len(made), c.Out, filepath.Join(c.Out, "experiments"), len(runs))
	return err
}
