package main

import (
	"fmt"

	"locklab/lab/claims"
	"locklab/lab/report/terminal"
)

type labShowCommand struct {
	ID string `arg:"" name:"id" completion-predictor:"experiment" help:"Id of the experiment, such as L03."`
}

func (c *labShowCommand) Run(std streams) error {
	e, err := claims.All().Find(c.ID)
	if err != nil {
		return usageErrorf("%w", err)
	}
	_, err = fmt.Fprint(std.out, terminal.Experiment(e, self(), screen(std.out)))
	return err
}
