package kit

import (
	"locklab/experiments"
	"locklab/history"
)

// Measure records a number in a unit.
func Measure(t *experiments.Trial, timeline string, value int64, unit string) {
	t.Record(history.Event{Timeline: timeline, Kind: history.Measure, Value: value, Text: unit})
}

// Measured finds the number of a timeline in a unit.
func Measured(trial []history.Event, timeline, unit string) (history.Event, bool) {
	for _, e := range trial {
		if e.Kind == history.Measure && e.Timeline == timeline && e.Text == unit {
			return e, true
		}
	}
	return history.Event{}, false
}
