package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"locklab/experiments/claims"
	"locklab/experiments/matrix"
	"locklab/internal/marked"
)

// labMatrixCommand holds the settings of lab matrix.
type labMatrixCommand struct {
	saved
	checkout
	Write bool `help:"Write it into README.md and docs/matrix.md."`
}

const matrixPage = `# Which lock breaks by what

<!-- written by ` + "`make matrix`" + ` from saved runs; do not edit -->

Held means: not broken in the trials that ran. Broken: a witness was recorded, and leads to the page that shows it. Not applicable and not tested are what
they say; below are the reasons, the witnesses, and the commands that repeat the runs. [All experiments](experiments/README.md)

`

// Run prints the matrix, or writes it.
func (c *labMatrixCommand) Run(std streams) error {
	runs, err := c.runs(c.Write)
	if err != nil {
		return err
	}
	m := matrix.Of(claims.All(), runs)
	if !c.Write {
		_, err := fmt.Fprint(std.out, matrixText(m))
		return err
	}
	page := filepath.Join(c.Dir, "docs", "matrix.md")
	if err := marked.Update(filepath.Join(c.Dir, "README.md"), "matrix", m.Markdown("docs/")); err != nil {
		return unavailable(err)
	}
	if err := os.WriteFile(page, []byte(matrixPage+m.Markdown("")+"\n"+m.Details("")), 0o644); err != nil {
		return unavailable(err)
	}
	_, err = fmt.Fprintf(std.out, "README.md and %s are written, from %d saved runs\n", page, len(runs))
	return err
}

// matrixText is the matrix for a terminal, which is higher than wide: a row for each anomaly.
func matrixText(m matrix.Matrix) string {
	t := newTable()
	header := table.Row{"anomaly"}
	for _, strategy := range m.Strategies {
		header = append(header, strategy)
	}
	t.AppendHeader(header)
	var notes []string
	for _, anomaly := range m.Anomalies {
		cells := row(anomaly)
		for _, strategy := range m.Strategies {
			cell := m.Cell(strategy, anomaly)
			cells = append(cells, cell.Short())
			if by := cell.By(); by != "" {
				notes = append(notes, printable(fmt.Sprintf("%s, %s: %s: %s", strategy, anomaly, by, cell)))
			}
		}
		t.AppendRow(cells)
	}
	var b strings.Builder
	b.WriteString(render(t) + "\n\n")
	for _, note := range notes {
		b.WriteString(wrapped(note, width) + "\n")
	}
	fmt.Fprintf(&b, "\n-: not tested · n/a: it cannot meet this lock; docs/matrix.md says why\nNext: %s lab run --quick, or: %[1]s lab matrix --write\n", self())
	return b.String()
}
