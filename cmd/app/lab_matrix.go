package main

import (
	"fmt"
	"path/filepath"

	"locklab/experiments/claims"
	"locklab/internal/marked"
	"locklab/report/matrix"
)

type labMatrixCommand struct {
	saved
	checkout
	Write bool `help:"Write the matrix into README.md and docs/matrix.md (default: print it)."`
}

func (c *labMatrixCommand) Run(std streams) error {
	runs, err := c.runs(c.Write)
	if err != nil {
		return err
	}
	m := matrix.Of(claims.All(), runs)
	if !c.Write {
		_, err := fmt.Fprintf(std.out, "%sNext: %s lab run --quick, or: %[2]s lab matrix --write\n", m.Text(screen(std.out)), self())
		return err
	}
	page := filepath.Join(c.Dir, "docs", "matrix.md")
	for _, part := range []struct{ page, name, text string }{
		{filepath.Join(c.Dir, "README.md"), "matrix", m.Narrow("docs/", "v2", "v3", "v4")},
		{page, "matrix", m.Whole()},
		{page, "details", m.Details("")},
	} {
		if err := marked.Update(part.page, part.name, part.text); err != nil {
			return unavailable(err)
		}
	}
	_, err = fmt.Fprintf(std.out, "README.md and %s are written, from %d saved runs\n", page, len(runs))
	return err
}
