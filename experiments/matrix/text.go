package matrix

import (
	"fmt"
	"strings"

	"locklab/experiments/terminal"
)

// Text is the matrix for a terminal, which is higher than wide: a row for each anomaly.
func (m Matrix) Text() string {
	t := terminal.NewTable(append([]string{"anomaly"}, m.Strategies...)...)
	var notes strings.Builder
	for _, anomaly := range m.Anomalies {
		cells := []any{anomaly}
		for _, strategy := range m.Strategies {
			cell := m.Cell(strategy, anomaly)
			cells = append(cells, cell.Short())
			if by := cell.By(); by != "" {
				note := terminal.Printable(fmt.Sprintf("%s, %s: %s: %s", strategy, anomaly, by, cell))
				notes.WriteString(terminal.Wrap(note, terminal.Width) + "\n")
			}
		}
		t.Row(cells...)
	}
	return fmt.Sprintf("%s\n\n%s\n-: not tested · n/a: it cannot meet this lock; docs/matrix.md says why\n", t, &notes)
}
