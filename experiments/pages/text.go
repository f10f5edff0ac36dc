package pages

import (
	"slices"
	"strings"

	"locklab/experiments/terminal"
	"locklab/history"
)

// cell makes of any text one that fits into a table.
func cell(text string) string { return strings.ReplaceAll(inline(text), "|", "\\|") }

// inline makes of any text one that fits into a line.
func inline(text string) string {
	return strings.TrimRight(terminal.OneLine(strings.TrimSpace(text)), ".")
}

// fenced makes of any text one that fits into a fenced block.
func fenced(text string) string {
	return terminal.PrintableLines(strings.Trim(strings.ReplaceAll(text, "```", "'''"), "\n"))
}

// measure is what was measured of one thing in all trials of an arm.
type measure struct {
	Arm, What               string
	Median, Lowest, Highest int64
}

// Measures sums up what the run measured.
func (p page) Measures() (all []measure) {
	type what struct{ arm, text string }
	var order []what
	values := make(map[what][]int64)
	for _, e := range p.Record.Events {
		if e.Kind != history.Measure {
			continue
		}
		w := what{e.Variant, e.Text}
		if values[w] == nil {
			order = append(order, w)
		}
		values[w] = append(values[w], e.Value)
	}
	for _, w := range order {
		v := slices.Sorted(slices.Values(values[w]))
		all = append(all, measure{w.arm, w.text, v[len(v)/2], v[0], v[len(v)-1]})
	}
	slices.SortStableFunc(all, func(a, b measure) int { return strings.Compare(a.What, b.What) })
	return all
}
