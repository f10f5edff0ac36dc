package history

import (
	"fmt"
	"slices"
	"time"
)

// Hold is the time in which a client believed that it had a lock.
type Hold struct {
	Key, Owner, Lane string
	Fence            uint64
	Asked, Granted   time.Duration
	Ends, Ended      time.Duration // from when to when it ended: a release from its call to its answer
	Open             bool          // nothing says that it ended
	Seqs             []int         // of its events
}

// Holds returns the holds of a trial, in the order in which they were granted.
func Holds(events []Event) (all []Hold) {
	asked := make(map[string]Event)
	open := make(map[string]int) // by owner: its place in all
	for _, e := range events {
		at, held := open[e.Owner]
		switch e.Kind {
		case Ask:
			asked[e.Owner] = e
		case Grant:
			h := Hold{Key: e.Key, Owner: e.Owner, Lane: e.Lane, Fence: e.Fence, Asked: e.At, Granted: e.At, Open: true, Seqs: []int{e.Seq}}
			if a, ok := asked[e.Owner]; ok {
				h.Asked, h.Seqs = a.At, []int{a.Seq, e.Seq}
			}
			open[e.Owner] = len(all)
			all = append(all, h)
		case Give, Lose, Gave, Die:
			if !held {
				continue
			}
			h := &all[at]
			h.Seqs = append(h.Seqs, e.Seq)
			if h.Open {
				h.Open, h.Ends, h.Ended = false, e.At, e.At
			}
			if e.Kind == Gave {
				h.Ended = e.At
			}
		}
	}
	return all
}

// Overlaps finds every two holds of one key of which each began before the other ended. That two believe it is
// not yet damage: see [Counter], [Late] and [Winners] for what the resource saw.
func Overlaps(events []Event) (found []Finding) {
	holds := Holds(events)
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			if a.Overlaps(b) {
				found = append(found, Finding{
					What:   fmt.Sprintf("%s and %s both held %s", a.Lane, b.Lane, a.Key),
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
