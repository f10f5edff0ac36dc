package history

import (
	"fmt"
	"slices"
	"time"
)

// Hold is the time in which a client believed that it had a lock.
type Hold struct {
	Key, Owner, Timeline string
	Token                uint64
	Requested, Granted   time.Duration
	Ends, Ended          time.Duration // from when to when it ended: a release from its call to its answer
	Open                 bool          // nothing says that it ended
	Seqs                 []int         // of its events
}

// Holds returns the holds of a trial, in the order in which they were granted.
func Holds(events []Event) (all []Hold) {
	asked := make(map[string]Event)
	open := make(map[string]int) // by owner: its place in all
	for _, e := range events {
		at, held := open[e.Owner]
		switch e.Kind {
		case Request:
			asked[e.Owner] = e
		case Grant:
			h := Hold{Key: e.Key, Owner: e.Owner, Timeline: e.Timeline, Token: e.Token, Requested: e.At, Granted: e.At, Open: true, Seqs: []int{e.Seq}}
			if a, ok := asked[e.Owner]; ok {
				h.Requested, h.Seqs = a.At, []int{a.Seq, e.Seq}
			}
			open[e.Owner] = len(all)
			all = append(all, h)
		case Release, Lose, Released, Die:
			if !held {
				continue
			}
			h := &all[at]
			h.Seqs = append(h.Seqs, e.Seq)
			if h.Open {
				h.Open, h.Ends, h.Ended = false, e.At, e.At
			}
			if e.Kind == Released {
				h.Ended = e.At
			}
		}
	}
	return all
}

// Overlaps finds every two holds of one key of which each began before the other ended. That two believe it is
// not yet damage: see [Counter], [Late] and [Winners] for what the resource saw.
func Overlaps(events []Event) (found []Violation) {
	holds := Holds(events)
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			if a.Overlaps(b) {
				found = append(found, Violation{
					What:   fmt.Sprintf("%s and %s both held %s", a.Timeline, b.Timeline, a.Key),
					Events: sorted(a.Seqs, b.Seqs),
				})
			}
		}
	}
	return found
}

// Overlaps reports whether h and other are of one key, and each began before the other ended.
func (h Hold) Overlaps(other Hold) bool {
	return h.Key == other.Key && !h.before(other) && !other.before(h)
}

// before reports whether h had surely ended when other was granted.
func (h Hold) before(other Hold) bool { return !h.Open && h.Ends <= other.Granted }

func sorted(lists ...[]int) []int {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
