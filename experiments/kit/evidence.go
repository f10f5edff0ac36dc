package kit

import (
	"slices"

	"locklab/history"
)

// WithCauses adds to violations the commands, deaths, refusals and faults before them.
func WithCauses(trial []history.Event, found []history.Violation) []history.Violation {
	for i, v := range found {
		var causes []int
		for _, e := range trial {
			if e.Seq >= v.Events[0] {
				break
			}
			switch e.Kind {
			case history.Command, history.Die, history.Refuse, history.Fault:
				causes = append(causes, e.Seq)
			}
		}
		found[i].Events = append(causes, v.Events...)
	}
	return found
}

// WithOwners adds to violations what their owners requested and were told, where that is not too much to draw.
func WithOwners(trial []history.Event, found []history.Violation) []history.Violation {
	owner := make(map[int]string) // by event
	all := make(map[string][]int) // the events, by owner
	for _, e := range trial {
		if e.Owner != "" {
			owner[e.Seq], all[e.Owner] = e.Owner, append(all[e.Owner], e.Seq)
		}
	}
	for i, v := range found {
		with := slices.Clone(v.Events)
		for _, seq := range v.Events {
			with = append(with, all[owner[seq]]...)
		}
		slices.Sort(with)
		if with = slices.Compact(with); len(with) <= history.Explained {
			found[i].Events = with
		}
	}
	return found
}

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
