package matrix

import (
	"fmt"
	"strings"

	"locklab/internal/marked"
)

// Markdown is the matrix as a table, with links to the experiments' pages, which are below root.
func (m Matrix) Markdown(root string) string {
	return table("lock", m.Strategies, m.Anomalies, func(strategy, anomaly string) string {
		return m.Cell(strategy, anomaly).markdown(root)
	})
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

// Narrow is the matrix of a few locks, with a row for each anomaly and cells of a word or two.
func (m Matrix) Narrow(root string, strategies ...string) string {
	return table("what happens", m.Anomalies, strategies, func(anomaly, strategy string) string {
		c := m.Cell(strategy, anomaly)
		switch c.State {
		case NoViolation:
			return c.link(root, fmt.Sprintf("0 of %d", c.Trials))
		case Violated:
			return c.link(root, "**violated**")
		}
		return c.Short()
	})
}

func table(what string, rows, columns []string, cell func(row, column string) string) string {
	var all [][]string
	for _, row := range rows {
		cells := []string{row}
		for _, column := range columns {
			cells = append(cells, cell(row, column))
		}
		all = append(all, cells)
	}
	return marked.Table(1+len(columns), append([]string{what}, columns...), all)
}

// markdown is the cell, short, leading to the first run that shows it.
func (c Cell) markdown(root string) string {
	text := c.String()
	switch c.State { // the reasons and counterexamples are in the details
	case Violated:
		text = "**violated**"
	case Undecided:
		text = "not tested"
	}
	return c.link(root, text)
}

// link leads to the first experiment that the cell rests on.
func (c Cell) link(root, text string) string {
	if len(c.Shown) == 0 {
		return text
	}
	return fmt.Sprintf("[%s](%sexperiments/%s.md)", text, root, c.Shown[0].Experiment)
}

// Details says for each anomaly what the cells rest on: the counterexample, the reason, and the variants. Their pages have the commands.
func (m Matrix) Details(root string) string {
	var sections []string
	for _, anomaly := range m.Anomalies {
		var rows [][]string
		for _, strategy := range m.Strategies {
			c := m.Cell(strategy, anomaly)
			text := c.String()
			if c.State == NotApplicable {
				text += ": " + c.Why
			}
			rows = append(rows, []string{strategy, cellText(text), c.shown(root)})
		}
		sections = append(sections, "## "+anomaly+"\n\n"+marked.Table(3, []string{"lock", "result", "by"}, rows))
	}
	return strings.Join(sections, "\n")
}

// shown are the variants that the cell rests on.
func (c Cell) shown(root string) string {
	var lines []string
	last := ""
	for _, s := range c.Shown {
		if variant := cellText(s.Variant); s.Experiment == last {
			lines[len(lines)-1] += "; " + variant
		} else {
			lines = append(lines, fmt.Sprintf("[%[1]s](%[2]sexperiments/%[1]s.md): %[3]s", s.Experiment, root, variant))
		}
		last = s.Experiment
	}
	return strings.Join(lines, "<br>")
}

// cellText makes of any text one that fits into a table and begins no code.
func cellText(text string) string { return marked.Cell(strings.ReplaceAll(text, "`", "'")) }
