package history

import (
	"cmp"
	"math"
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
func Holders(events []Event) (all []Holder) {
	for _, h := range holders(events) {
		all = append(all, h.Holder)
	}
	return all
}

// Overlaps reports whether h and other held the same key, and each was granted before the other ended.
func (h Holder) Overlaps(other Holder) bool {
	return h.Key == other.Key && !h.before(other) && !other.before(h)
}

// before reports whether h had surely ended when other was granted.
func (h Holder) before(other Holder) bool { return !h.Open && h.Ends <= other.Granted }

// never is the position of an event that did not happen.
const never = math.MaxInt32

// holder is a Holder with the positions of its events in the order of time.
type holder struct {
	Holder
	requested, granted int
	end                Kind // Release, Lose or Die
	endFrom, endBy     int
	first              *holder // a session is a grant by the server and all hand-offs of it: this is its first holder
}

// positions numbers events in the order of time, from 1. Events at one moment keep the order in which they were recorded.
type positions struct {
	of     map[int]int // by Seq
	sorted []Event
}

func newPositions(events []Event) positions {
	p := positions{make(map[int]int), slices.Clone(events)}
	slices.SortStableFunc(p.sorted, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	for i, e := range p.sorted {
		p.of[e.Seq] = i + 1
	}
	return p
}

// instant is the position of the first event after a position that has the same time as e.
func (p positions) instant(e Event, after int) int {
	from := p.of[e.Seq]
	for from > after && p.sorted[from-2].At == e.At {
		from--
	}
	return from
}

func holders(events []Event) (all []*holder) {
	at := newPositions(events)
	requests, granted := make(map[string]Event), make(map[string]*holder) // by owner
	for _, e := range events {
		switch e.Kind {
		case Request:
			requests[e.Owner] = e
		case Grant:
			h := newHolder(e, at)
			if r, ok := requests[e.Owner]; ok {
				h.Requested, h.requested, h.Seqs = r.At, min(at.of[r.Seq], h.granted), []int{r.Seq, e.Seq}
			}
			granted[e.Owner] = h
			all = append(all, h)
		case Release, Released, Lose, Die:
			if h := granted[e.Owner]; h != nil {
				h.ended(e, at)
			}
		}
	}
	return all
}

func newHolder(e Event, at positions) *holder {
	h := &holder{requested: at.of[e.Seq], granted: at.of[e.Seq], endFrom: never, endBy: never}
	h.Holder = Holder{
		Key: e.Key, Owner: e.Owner, Timeline: e.Timeline, Process: e.Process, Token: e.Token,
		Requested: e.At, Granted: e.At, Open: true, Seqs: []int{e.Seq},
	}
	h.first = h
	return h
}

// ended records an event that ends h. The first one counts. A loss takes effect at any moment of its instant, and a
// release at any moment until its success is known.
func (h *holder) ended(e Event, at positions) {
	h.Seqs = append(h.Seqs, e.Seq)
	position := max(h.granted, at.of[e.Seq])
	if h.Open {
		h.Open, h.Ends, h.end, h.endFrom, h.Ended = false, e.At, e.Kind, position, e.At
		if e.Kind == Lose {
			h.endFrom = max(h.granted, at.instant(e, h.granted))
		}
		if e.Kind != Release {
			h.endBy = position
		}
	}
	if e.Kind == Released {
		if h.Ended = e.At; h.end == Release && e.Text == "" {
			h.endBy = position
		}
	}
}

func sorted(lists ...[]int) []int {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
