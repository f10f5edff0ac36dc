package main

import (
	"fmt"

	"locklab/experiments/claims"
)

type labShowCommand struct {
	ID string `arg:"" name:"id" help:"Experiment; the number is enough: L03."`
}

func (c *labShowCommand) Run(std streams) error {
	e, err := claims.Find(c.ID)
	if err != nil {
		return misuse("%w", err)
	}
	_, err = fmt.Fprint(std.out, e.Describe(self()))
	return err
}
