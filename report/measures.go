package report

import (
	"fmt"
	"slices"

	"locklab/experiments"
	"locklab/history"
)

// measured is one unit's measurements, side by side.
type measured struct {
	Unit string
	Rows []measuredRow
	Says string
}

// measuredRow is one way, in one arm: the median of what was measured, and each measurement.
type measuredRow struct {
	Way   string
	Value int64
	Text  string // the value, as it is read
	Width int    // of the bar
	Each  []int

	values []int64
}

// barRoom is how long the longest bar is.
const barRoom = 400

// measures collects the measurements of a run, over all trials, by unit and way.
func measures(r experiments.Record) (all []measured) {
	type way struct{ unit, arm, lane string }
	values := make(map[way][]int64)
	var ways []way
	arms, lanes := make(map[string]bool), make(map[string]bool)
	for _, e := range r.Events {
		if e.Kind != history.Measure {
			continue
		}
		w := way{e.Text, e.Variant, e.Timeline}
		if values[w] == nil {
			ways = append(ways, w)
		}
		values[w] = append(values[w], e.Value)
		arms[e.Variant], lanes[e.Timeline] = true, true
	}
	for _, w := range ways {
		i := slices.IndexFunc(all, func(m measured) bool { return m.Unit == w.unit })
		if i < 0 {
			i, all = len(all), append(all, measured{Unit: w.unit})
		}
		name := w.arm + " · " + w.lane
		switch {
		case len(arms) == 1 || w.arm == w.lane:
			name = w.lane
		case len(lanes) == 1:
			name = w.arm
		}
		all[i].Rows = append(all[i].Rows, newMeasuredRow(name, values[w]))
	}
	for i := range all {
		all[i].scale()
	}
	return all
}

func newMeasuredRow(way string, values []int64) measuredRow {
	sorted := slices.Sorted(slices.Values(values))
	middle := sorted[(len(sorted)-1)/2]
	return measuredRow{Way: way, Value: middle, Text: grouped(middle), values: sorted}
}

// scale makes the bars as long as their values.
func (m *measured) scale() {
	longest := int64(1)
	for _, r := range m.Rows {
		longest = max(longest, slices.Max(r.values))
	}
	for i := range m.Rows {
		r := &m.Rows[i]
		length := func(v int64) int { return int(float64(max(0, v)) / float64(longest) * barRoom) }
		r.Width = length(r.Value)
		if len(r.values) > 1 {
			for _, v := range r.values {
				r.Each = append(r.Each, length(v))
			}
		}
		m.Says += fmt.Sprintf("%s: %d %s. ", r.Way, r.Value, m.Unit)
	}
}

// grouped is a number with a space between thousands.
func grouped(n int64) string {
	if n < 0 {
		return "-" + grouped(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s\u202f%03d", grouped(n/1000), n%1000)
}
