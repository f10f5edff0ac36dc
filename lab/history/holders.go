package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Holder is one owner of a lock, from its request to its end, as the owner believed.
type Holder struct {
	Key, Owner, Timeline, Process string
	Token                         uint64
	Requested, Granted            time.Duration
	Ends, Ended                   time.Duration // the end lies between these: a release from its call to its reply
	Open                          bool          // no event ends it
	Seqs                          []int         // of its events
}

// Holders returns the holders in the order of their grants.
func Holders(events []Event) []Holder {
	var all []*Holder
	requests, granted := make(map[string]Event), make(map[string]*Holder) // by owner
	for _, e := range events {
		switch e.Kind {
		case Request:
			requests[e.Owner] = e
		case Grant:
			h := &Holder{
				Key: e.Key, Owner: e.Owner, Timeline: e.Timeline, Process: e.Process, Token: e.Token,
				Requested: e.At, Granted: e.At, Open: true, Seqs: []int{e.Seq},
			}
			if r, ok := requests[e.Owner]; ok {
				h.Requested, h.Seqs = r.At, []int{r.Seq, e.Seq}
			}
			granted[e.Owner] = h
			all = append(all, h)
		case Release, Released, Lose, Die:
			if h := granted[e.Owner]; h != nil {
				h.end(e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *Holder) int { return cmp.Compare(a.Granted, b.Granted) })
	holders := make([]Holder, len(all))
	for i, h := range all {
		holders[i] = *h
	}
	return holders
}

// end takes an event that ends h. The first one counts, and a release ends with its reply.
func (h *Holder) end(e Event) {
	h.Seqs = append(h.Seqs, e.Seq)
	if h.Open {
		h.Open, h.Ends, h.Ended = false, e.At, e.At
	} else if e.Kind == Released {
		h.Ended = e.At
	}
}

// Overlaps reports whether h and other held the same key, and each was granted before the other ended.
func (h Holder) Overlaps(other Holder) bool {
	return h.Key == other.Key && !h.before(other) && !other.before(h)
}

// before reports whether h had surely ended when other was granted.
func (h Holder) before(other Holder) bool { return !h.Open && h.Ends <= other.Granted }

// Exclusion compares each two holders of a key. The later one must be granted after the earlier one has ended, and with a larger fencing
// token. That two clients believe that they hold a lock is not yet damage: see [Counter] and [Winners] for what the resource saw.
func Exclusion(events []Event) (found []Violation) {
	holders := Holders(events)
	for i, earlier := range holders {
		for _, later := range holders[i+1:] {
			seqs := sorted(earlier.Seqs, later.Seqs)
			if earlier.Overlaps(later) {
				what := fmt.Sprintf("%s and %s both held %s", earlier.Timeline, later.Timeline, later.Key)
				found = append(found, Violation{MutualExclusion, later.Key, what, seqs})
			}
			if earlier.Key == later.Key && later.Token > 0 && later.Token <= earlier.Token {
				what := fmt.Sprintf("%s has the token %d, and before it %s had %d", later.Timeline, later.Token, earlier.Timeline, earlier.Token)
				found = append(found, Violation{GrowingTokens, later.Key, what, seqs})
			}
		}
	}
	return found
}

func sorted(lists ...[]int) []int {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
