package matrix

import (
	"fmt"
	"strings"

	"locklab/lab"
	"locklab/lab/report/terminal"
)

// Text is the matrix for a terminal, which is higher than wide: a row for each anomaly.
func (m Matrix) Text(screen terminal.Screen) string {
	t := terminal.NewTable(append([]string{"anomaly"}, m.Strategies...)...)
	var notes strings.Builder
	for _, anomaly := range m.Anomalies {
		cells := []any{anomaly}
		for _, strategy := range m.Strategies {
			cell := m.Cell(strategy, anomaly)
			cells = append(cells, cell.Short())
			if by := strings.Join(cell.Shown, ", "); by != "" {
				note := lab.Printable(fmt.Sprintf("%s, %s: %s: %s", strategy, anomaly, by, cell))
				notes.WriteString(screen.Wrap(note, 0) + "\n")
			}
		}
		t.Row(cells...)
	}
	const legend = "0 of 3: no violation in 3 trials, which proves nothing · -: no saved run here" +
		" · n/a: this failure cannot affect this lock; docs/matrix.md says why"
	return fmt.Sprintf("%s\n\n%s\n%s\n", t.In(screen), &notes, screen.Fit(legend, 0))
}
