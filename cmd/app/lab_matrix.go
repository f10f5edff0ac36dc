package main

import (
	"fmt"
	"path/filepath"

	"locklab/internal/marked"
	"locklab/lab/claims"
	"locklab/lab/report/matrix"
)

type labMatrixCommand struct {
	savedRuns
	checkout
	Write bool `help:"Update the matrix in README.md and docs/matrix.md instead of printing it."`
}

func (c *labMatrixCommand) Run(std streams) error {
	runs, err := c.load(c.Write)
	if err != nil {
		return err
	}
	m := matrix.Of(claims.All(), runs)
	if !c.Write {
		_, err := fmt.Fprintf(std.out, "%sNext: %s lab run --quick\n", m.Text(screen(std.out)), self())
		return err
	}
	readme, page := filepath.Join(c.Dir, "README.md"), filepath.Join(c.Dir, "docs", "matrix.md")
	for _, part := range []struct{ page, name, text string }{
		{readme, "matrix", m.Narrow("docs/", "v3", "v4")},
		{page, "matrix", m.Whole()},
		{page, "details", m.Details("")},
	} {
		if err := marked.Update(part.page, part.name, part.text); err != nil {
			return unavailable(err)
		}
	}
	_, err = fmt.Fprintf(std.out, "Updated %s and %s from %d saved runs.\n", readme, page, len(runs))
	return err
}
