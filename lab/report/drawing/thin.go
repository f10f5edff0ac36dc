package drawing

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/lab/history"
)

// MostTimelines is how many are drawn of a trial.
const MostTimelines = 12

// Importance of an event for the drawing of a long trial.
const (
	shows   = iota // the violation
	weighty        // a fault, a refusal by the token, or the end
	other
)

// thin chooses the events of a long trial that are drawn, at most so many: the circled ones, the faults, the end, and their neighbours.
func thin(events []history.Event, circled []int, most int) (shown []history.Event, left string) {
	importance := func(e history.Event) int {
		switch {
		case slices.Contains(circled, e.Seq):
			return shows
		case slices.Contains([]history.Kind{history.Fault, history.Heal, history.Die, history.Stale, history.Final}, e.Kind):
			return weighty
		}
		return other
	}
	shown = onFewTimelines(events, importance)
	if len(shown) > most {
		shown = around(shown, importance, most)
	}
	if len(shown) == len(events) {
		return shown, ""
	}
	which := "the first, the faults and the end"
	if len(circled) > 0 {
		which = "those around the violation, the faults, and the end"
	}
	return shown, fmt.Sprintf("%d of %d events are drawn, on %d of %d timelines: %s. All are in the history.",
		len(shown), len(events), len(timelines(shown)), len(timelines(events)), which)
}

// onFewTimelines drops the events of the less important timelines, where there are too many.
func onFewTimelines(events []history.Event, importance func(history.Event) int) []history.Event {
	sorted := slices.SortedStableFunc(slices.Values(events), func(a, b history.Event) int { return cmp.Compare(importance(a), importance(b)) })
	var kept []string
	for _, e := range sorted {
		if len(kept) < MostTimelines && !slices.Contains(kept, e.Timeline) {
			kept = append(kept, e.Timeline)
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(e history.Event) bool { return !slices.Contains(kept, e.Timeline) })
}

// around returns the most important events and those next to them.
func around(events []history.Event, importance func(history.Event) int, most int) (shown []history.Event) {
	var indices, centres []int
	for i := range events {
		indices = append(indices, i)
	}
	for _, wanted := range []int{shows, weighty} {
		for i, e := range events {
			if importance(e) == wanted && len(centres) < most/2 {
				centres = append(centres, i)
			}
		}
		if len(centres) == 0 {
			centres = append(centres, 0) // no violation: the beginning
		}
	}
	distance := func(i int) int {
		nearest := len(events)
		for _, c := range centres {
			nearest = min(nearest, max(i-c, c-i))
		}
		return nearest
	}
	slices.SortStableFunc(indices, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
	for _, i := range slices.Sorted(slices.Values(indices[:most])) {
		shown = append(shown, events[i])
	}
	return shown
}
