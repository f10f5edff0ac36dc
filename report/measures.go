package report

import (
	"fmt"
	"slices"

	"locklab/experiments"
)

// measured holds the measurements of one unit, side by side.
type measured struct {
	Unit string
	Rows []measuredRow
	Says string
}

// measuredRow is one way of doing something, in one variant: the median, and each measurement.
type measuredRow struct {
	Way   string
	Value int64
	Text  string // the value, formatted
	Width int    // of the bar
	Each  []int  // x of each measurement; nil: there is only one

	values []int64 // sorted
}

// barRoom is the length of the longest bar.
const barRoom = 400

// measures shows the measurements of a run, over all trials, by unit and way.
func measures(r experiments.Record) (all []measured) {
	measurements := r.Measures()
	variants, timelines := make(map[string]bool), make(map[string]bool)
	for _, m := range measurements {
		variants[m.Variant], timelines[m.Timeline] = true, true
	}
	for _, m := range measurements {
		if len(all) == 0 || all[len(all)-1].Unit != m.Unit {
			all = append(all, measured{Unit: m.Unit})
		}
		way := m.Variant + " · " + m.Timeline
		switch {
		case len(variants) == 1 || m.Variant == m.Timeline:
			way = m.Timeline
		case len(timelines) == 1:
			way = m.Variant
		}
		last := &all[len(all)-1]
		last.Rows = append(last.Rows, measuredRow{Way: way, Value: m.Median(), Text: grouped(m.Median()), values: m.Values})
	}
	for i := range all {
		all[i].scale()
	}
	return all
}

// scale makes the bars as long as their values.
func (m *measured) scale() {
	longest := int64(1)
	for _, r := range m.Rows {
		longest = max(longest, slices.Max(r.values))
	}
	length := func(v int64) int { return int(float64(max(0, v)) / float64(longest) * barRoom) }
	for i := range m.Rows {
		r := &m.Rows[i]
		r.Width = length(r.Value)
		if len(r.values) > 1 {
			for _, v := range r.values {
				r.Each = append(r.Each, length(v))
			}
		}
		m.Says += fmt.Sprintf("%s: %d %s. ", r.Way, r.Value, m.Unit)
	}
}

// grouped formats a number with a space between thousands.
func grouped(n int64) string {
	if n < 0 {
		return "-" + grouped(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s\u202f%03d", grouped(n/1000), n%1000)
}
