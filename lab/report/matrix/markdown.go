package matrix

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/internal/marked"
)

// Markdown is the matrix as a table, with links to the experiments' pages, which are below root. A cell has a word or two.
func (m Matrix) Markdown(root string) string {
	var rows [][]string
	for _, strategy := range m.Strategies {
		row := []string{cmp.Or(called[strategy], strategy)}
		for _, anomaly := range m.Anomalies {
			row = append(row, m.Cell(strategy, anomaly).markdown(root))
		}
		rows = append(rows, row)
	}
	return marked.Table(1+len(m.Anomalies), append([]string{"lock"}, m.Anomalies...), rows)
}

// Whole is the matrix with the number of cells that say nothing.
func (m Matrix) Whole() string {
	untested := 0
	for _, strategy := range m.Strategies {
		for _, anomaly := range m.Anomalies {
			if state := m.Cell(strategy, anomaly).State; state == NotTested || state == Undecided {
				untested++
			}
		}
	}
	return fmt.Sprintf("%s\nNot tested: %d of %d cells.\n", m.Markdown(""), untested, len(m.Strategies)*len(m.Anomalies))
}

// Narrow is the matrix of a few locks, with a row for each anomaly.
func (m Matrix) Narrow(root string, strategies ...string) string {
	var rows [][]string
	for _, anomaly := range m.Anomalies {
		row := []string{anomaly}
		for _, strategy := range strategies {
			row = append(row, m.Cell(strategy, anomaly).markdown(root))
		}
		rows = append(rows, row)
	}
	return marked.Table(1+len(strategies), append([]string{"what happens"}, strategies...), rows)
}

// markdown is the cell, which links the first experiment that it rests on.
func (c Cell) markdown(root string) string {
	text := c.Short()
	switch c.State {
	case NoViolation:
		text = fmt.Sprintf("0 of %d", c.Trials)
	case Violated:
		text = "**violated**"
	}
	if len(c.Shown) == 0 {
		return text
	}
	return fmt.Sprintf("[%s](%sexperiments/%s.md)", text, root, c.Shown[0])
}

// Reasons says why cells are not applicable, each reason of a lock once.
func (m Matrix) Reasons() string {
	var rows [][]string
	for _, strategy := range m.Strategies {
		of := len(rows)
		for _, anomaly := range m.Anomalies {
			c := m.Cell(strategy, anomaly)
			if c.State != NotApplicable {
				continue
			}
			if same := slices.IndexFunc(rows[of:], func(row []string) bool { return row[2] == c.Why }); same >= 0 {
				rows[of+same][1] += ", " + anomaly
			} else {
				rows = append(rows, []string{cmp.Or(called[strategy], strategy), anomaly, c.Why})
			}
		}
	}
	return marked.Table(3, []string{"lock", "what happens", "why it is not applicable"}, rows)
}
