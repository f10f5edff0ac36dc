package html

import (
	"cmp"
	"slices"
	"strings"

	"locklab/lab/history"
)

// acts are the kinds of events that only a client has.
var acts = []history.Kind{history.Request, history.Grant, history.Release, history.Read, history.Write, history.Win, history.Command}

// timelines returns the names of the timelines of events: first those of clients, sorted, then the others. Of those, node-1 to node-5
// are beside each other, where the first of them appears.
func timelines(events []history.Event) []string {
	var clients, others []string
	for _, e := range events {
		if slices.Contains(acts, e.Kind) && !slices.Contains(clients, e.Timeline) {
			clients = append(clients, e.Timeline)
		}
	}
	for _, e := range events {
		if !slices.Contains(clients, e.Timeline) && !slices.Contains(others, e.Timeline) {
			others = append(others, e.Timeline)
		}
	}
	slices.SortStableFunc(clients, numerically)
	var stems []string
	for _, name := range others {
		stems = append(stems, stem(name))
	}
	slices.SortStableFunc(others, func(a, b string) int {
		return cmp.Or(slices.Index(stems, stem(a))-slices.Index(stems, stem(b)), numerically(a, b))
	})
	return append(clients, others...)
}

// stem is a name without its number.
func stem(name string) string { return strings.TrimRight(name, "0123456789") }

// numerically compares names: driver 2 comes before driver 10.
func numerically(a, b string) int {
	return cmp.Or(strings.Compare(stem(a), stem(b)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
