package clients

import (
	"locklab/lab"
	"locklab/lab/history"
)

// Any is a check that finds what any of checks finds.
func Any(checks ...func([]history.Event) []history.Violation) func([]history.Event) []history.Violation {
	return func(trial []history.Event) (found []history.Violation) {
		for _, check := range checks {
			found = append(found, check(trial)...)
		}
		return found
	}
}

// Noted is a check that finds the notes with a mark.
func Noted(m history.Mark) func([]history.Event) []history.Violation {
	return func(trial []history.Event) []history.Violation { return history.Noted(trial, m) }
}

// Measured finds what was measured of a timeline.
func Measured(trial []history.Event, timeline string, of lab.Quantity) (history.Event, bool) {
	for _, e := range trial {
		if e.Timeline == timeline && of.In(e) {
			return e, true
		}
	}
	return history.Event{}, false
}
