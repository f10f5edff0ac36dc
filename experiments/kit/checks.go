package kit

import "locklab/history"

// Any is a check that finds what any of checks finds.
func Any(checks ...func([]history.Event) []history.Violation) func([]history.Event) []history.Violation {
	return func(trial []history.Event) (found []history.Violation) {
		for _, check := range checks {
			found = append(found, check(trial)...)
		}
		return found
	}
}

// Noted is a check that finds the notes with a text.
func Noted(text string) func([]history.Event) []history.Violation {
	return func(trial []history.Event) []history.Violation { return history.Noted(trial, text) }
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
