package history

import (
	"slices"
	"strings"
)

// Kinds of events that are about a lock, and about a counter behind it.
var (
	aboutLocks    = []Kind{Request, Grant, Refuse, Reenter, Lose, Release, Released}
	aboutCounters = []Kind{Read, Write, Stale, Final}
)

// KeyNames returns a function that names the key of an event for a reader of the trial; empty: the trial needs no name. It needs the names
// of locks, or of counters, where one client goes from a key to another and back: there an event without its key says too little. Where
// each client has a key of its own, or each round, the place of the event says which. More than four keys are many of a kind.
func KeyNames(events []Event) func(Event) string {
	locks, counters := keyNames(events, Grant, Release), keyNames(events, Read, Write)
	return func(e Event) string {
		switch {
		case slices.Contains(aboutLocks, e.Kind):
			return locks[e.Key]
		case slices.Contains(aboutCounters, e.Kind):
			return counters[e.Key]
		}
		return ""
	}
}

// keyNames are the short names of the keys that events of some kinds have.
func keyNames(events []Event, kinds ...Kind) map[string]string {
	const most = 4
	used, byClient, needed := make(map[string]string), make(map[string][]string), false
	for _, e := range events {
		if e.Key == "" || !slices.Contains(kinds, e.Kind) {
			continue
		}
		used[e.Key] = strings.TrimPrefix(e.Key, "lock:")
		before := byClient[e.Timeline]
		if last := len(before) - 1; last < 0 || before[last] != e.Key {
			needed = needed || slices.Contains(before, e.Key)
			byClient[e.Timeline] = append(before, e.Key)
		}
	}
	if !needed || len(used) > most {
		return nil
	}
	for key, name := range used {
		if _, ambiguous := used[name]; ambiguous && name != key { // it is a key itself
			used[key] = key
		}
	}
	return used
}
