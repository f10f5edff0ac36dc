package lab

import (
	"fmt"
	"slices"
)

// Measurements are what a run measured, as a table: a row for each variant and timeline, a column for each quantity.
type Measurements struct {
	Units []string
	Rows  []MeasuredRow
}

// MeasuredRow is a row of it.
type MeasuredRow struct {
	Variant, Timeline string
	Cells             []string // the median, and the lowest and the highest where they differ; a dash: not measured
}

// Measurements sums up what a run measured, in the order of its variants.
func (r Record) Measurements() (m Measurements) {
	for _, one := range r.Measures() {
		unit := slices.Index(m.Units, one.Label())
		if unit < 0 {
			unit, m.Units = len(m.Units), append(m.Units, one.Label())
		}
		row := slices.IndexFunc(m.Rows, func(r MeasuredRow) bool { return r.Variant == one.Variant && r.Timeline == one.Timeline })
		if row < 0 {
			row, m.Rows = len(m.Rows), append(m.Rows, MeasuredRow{Variant: one.Variant, Timeline: one.Timeline})
		}
		for i := range m.Rows {
			for len(m.Rows[i].Cells) < len(m.Units) {
				m.Rows[i].Cells = append(m.Rows[i].Cells, "–")
			}
		}
		text := one.Text(one.Median())
		if one.Lowest() != one.Highest() {
			text += fmt.Sprintf(" (%s to %s)", one.Text(one.Lowest()), one.Text(one.Highest()))
		}
		m.Rows[row].Cells[unit] = text
	}
	order := func(variant string) int {
		return slices.IndexFunc(r.Variants, func(v VariantRecord) bool { return v.Name == variant })
	}
	slices.SortStableFunc(m.Rows, func(a, b MeasuredRow) int { return order(a.Variant) - order(b.Variant) })
	return m
}
