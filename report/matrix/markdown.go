package matrix

import (
	"fmt"
	"strings"
)

// Markdown is the matrix as a table, with links to the experiments' pages, which are below root.
func (m Matrix) Markdown(root string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| lock | %s |\n|---|%s\n", strings.Join(m.Anomalies, " | "), strings.Repeat("---|", len(m.Anomalies)))
	for _, strategy := range m.Strategies {
		fmt.Fprintf(&b, "| %s |", strategy)
		for _, anomaly := range m.Anomalies {
			fmt.Fprintf(&b, " %s |", m.Cell(strategy, anomaly).markdown(root))
		}
		b.WriteString("\n")
	}
	return b.String()
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

// Narrow is the matrix of a few locks: a row for each anomaly, so that it fits beside text.
func (m Matrix) Narrow(root string, strategies ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| what fails | %s |\n|---|%s\n", strings.Join(strategies, " | "), strings.Repeat("---|", len(strategies)))
	for _, anomaly := range m.Anomalies {
		fmt.Fprintf(&b, "| %s |", anomaly)
		for _, strategy := range strategies {
			fmt.Fprintf(&b, " %s |", m.Cell(strategy, anomaly).markdown(root))
		}
		b.WriteString("\n")
	}
	return b.String()
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
	if len(c.Shown) == 0 {
		return text
	}
	return fmt.Sprintf("[%s](%sexperiments/%s.md)", text, root, c.Shown[0].Experiment)
}

// Details says for each anomaly what the cells rest on: the counterexample, the reason, and the variants. Their pages have the commands.
func (m Matrix) Details(root string) string {
	var b strings.Builder
	for _, anomaly := range m.Anomalies {
		fmt.Fprintf(&b, "## %s\n\n| lock | | by |\n|---|---|---|\n", anomaly)
		for _, strategy := range m.Strategies {
			c := m.Cell(strategy, anomaly)
			text := c.String()
			if c.State == NotApplicable {
				text += ": " + c.Why
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", strategy, tableText.Replace(text), c.shown(root))
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// shown are the variants that the cell rests on.
func (c Cell) shown(root string) string {
	var lines []string
	last := ""
	for _, s := range c.Shown {
		if variant := tableText.Replace(s.Variant); s.Experiment == last {
			lines[len(lines)-1] += "; " + variant
		} else {
			lines = append(lines, fmt.Sprintf("[%[1]s](%[2]sexperiments/%[1]s.md): %[3]s", s.Experiment, root, variant))
		}
		last = s.Experiment
	}
	return strings.Join(lines, "<br>")
}

// tableText makes of any text one that fits into a table.
var tableText = strings.NewReplacer("\n", "; ", "|", "\\|", "`", "'")
