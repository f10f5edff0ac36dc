package matrix

import (
	"fmt"
	"strings"

	"locklab/lab/report/terminal"
)

// textWidth is how wide the matrix is at most, also in a file.
const textWidth = 116

// Text is the matrix for a terminal, which is higher than wide: a row for each anomaly. program starts the command that runs what is
// missing.
func (m Matrix) Text(program string, screen terminal.Screen) string {
	screen = screen.AtMost(textWidth)
	t := terminal.NewTable(append([]string{"anomaly"}, m.Strategies...)...).Narrow(len("PX, DEL"), m.Strategies...)
	for _, anomaly := range m.Anomalies {
		cells := []any{anomaly}
		for _, strategy := range m.Strategies {
			cells = append(cells, m.Cell(strategy, anomaly).sign())
		}
		t.Row(cells...)
	}
	legend := "✗: violated · 0/3: no violation in 3 trials, which proves nothing · -: not run yet · ?: the run showed nothing" +
		" · n/a: this failure cannot affect this lock\ndocs/matrix.md has the reasons, and links the experiments."
	text := fmt.Sprintf("%s\n\n%s\n", screen.Fit(legend, 0), t.In(screen))
	if len(m.Missing) > 0 {
		missing := fmt.Sprintf("Not run yet: %s lab run %s", program, strings.Join(m.Missing, " "))
		text += "\n" + screen.Fit(missing, 0) + "\n"
	}
	return text
}

// sign is the cell in a few letters.
func (c Cell) sign() string {
	switch c.State {
	case NoViolation:
		return fmt.Sprintf("0/%d", c.Trials)
	case Violated:
		return "✗"
	case Undecided:
		return "?"
	}
	return c.Short()
}
