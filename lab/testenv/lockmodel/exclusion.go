package lockmodel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"locklab/lab/history"
)

// searchTimeout is how long porcupine may search for an order of the operations.
var searchTimeout = 20 * time.Second

// exclusion is [history.Exclusion] beside faults: a fault of the server excuses a session that it may have ended. Hand-offs within a
// process continue a session.
func exclusion(events []history.Event) (found []history.Violation) {
	for _, s := range stories(events) {
		for i, earlier := range s.holders {
			for _, later := range s.holders[i+1:] {
				if earlier.first != later.first && s.excused(earlier, later) {
					continue
				}
				if later.granted < earlier.endFrom {
					what := fmt.Sprintf("%s and %s both held %s", earlier.Timeline, later.Timeline, s.key)
					found = append(found, violation(history.MutualExclusion, s.key, what, earlier.Seqs, later.Seqs))
				}
				if later.Token > 0 && later.Token <= earlier.Token {
					what := fmt.Sprintf("%s has the token %d, and before it %s had %d", later.Timeline, later.Token, earlier.Timeline, earlier.Token)
					found = append(found, violation(history.GrowingTokens, s.key, what, earlier.Seqs, later.Seqs))
				}
			}
		}
	}
	return found
}

// story is what happened to one key.
type story struct {
	key     string
	holders []*holder // in the order of their grants
	faults  []*fault
}

// fault is a time in which the server may forget the grant of a key.
type fault struct {
	seqs     []int
	from, to int
	over     time.Duration // not valid when to is never
}

// stories sorts events by key.
func stories(events []history.Event) (all []*story) {
	by := make(map[string]*story)
	of := func(key string) *story {
		if by[key] == nil {
			by[key] = &story{key: key}
			all = append(all, by[key])
		}
		return by[key]
	}
	for _, h := range holders(events) {
		s := of(h.Key)
		s.holders = append(s.holders, h)
	}
	at, faults := newPositions(events), make(map[string]*fault) // by owner
	for _, e := range events {
		if e.Kind == history.Fault && e.Key != "" {
			faults[e.Owner] = &fault{seqs: []int{e.Seq}, from: at.of[e.Seq], to: never}
			s := of(e.Key)
			s.faults = append(s.faults, faults[e.Owner])
		}
		if f := faults[e.Owner]; e.Kind == history.Heal && e.Key != "" && f != nil {
			f.seqs, f.to, f.over = append(f.seqs, e.Seq), at.of[e.Seq], e.At
		}
	}
	for _, s := range all {
		slices.SortStableFunc(s.holders, func(a, b *holder) int { return cmp.Compare(a.granted, b.granted) })
		s.sessions()
	}
	return all
}

// sessions finds the hand-offs: a holder with the next token of the same process continues a session.
func (s *story) sessions() {
	last := make(map[string]*holder) // by process
	for _, h := range s.holders {
		if before := last[h.Process]; before != nil && before.Token > 0 && before.Token+1 == h.Token {
			h.first = before.first
		}
		last[h.Process] = h
	}
}

// excused reports whether a fault ended the session of one of the two before the later one was granted.
func (s *story) excused(earlier, later *holder) bool {
	return slices.ContainsFunc(s.faults, func(f *fault) bool {
		return f.from < later.granted && (f.to > earlier.first.requested || f.to > later.first.requested)
	})
}

// twice compares what exclusion found with porcupine, which searches for an order of all operations that a lock
// allows. Where the two disagree one of them is wrong: an error. Beside a fault of the server porcupine is stricter,
// because it knows that one fault ends one session; then its violation is added.
func twice(events []history.Event, own []history.Violation) (found []history.Violation, err error) {
	for _, s := range stories(events) {
		pairs := slices.DeleteFunc(slices.Clone(own), func(v history.Violation) bool { return v.Key != s.key })
		broken, unknown := s.linear()
		switch {
		case unknown != nil:
			return nil, unknown
		case len(pairs) > 0 && broken == "":
			return nil, fmt.Errorf("%s: porcupine accepts the history, but %s", s.key, pairs[0].What)
		case len(pairs) == 0 && broken != "" && len(s.faults) == 0:
			return nil, fmt.Errorf("%s: porcupine rejects the history, but no two holders contradict each other", s.key)
		case len(pairs) == 0 && broken != "":
			pairs = []history.Violation{{Promise: broken, Key: s.key, What: "porcupine: no order of the operations is possible"}}
		}
		found = append(found, pairs...)
	}
	return found, nil
}

// linear asks porcupine whether the operations on a key have an order. broken is the promise that prevents it.
func (s *story) linear() (broken history.Promise, err error) {
	operations := s.operations()
	for _, m := range []struct {
		tokens bool
		broken history.Promise
	}{{true, ""}, {false, history.GrowingTokens}} {
		switch porcupine.CheckOperationsTimeout(lockModel(m.tokens), operations, searchTimeout) {
		case porcupine.Ok:
			return m.broken, nil
		case porcupine.Unknown:
			return "", fmt.Errorf("%s: porcupine found no answer within %s", s.key, searchTimeout)
		}
	}
	return history.MutualExclusion, nil
}

// step is an operation on a key. Each takes effect at one moment between its beginning and its end:
//
//	Grant  from the request to the grant: takes the free key
//	end    of a release from its call to its success, of a loss at its instant: the key is free. A later end would allow no
//	       other order, but the search would try it
//	Fault  of the server: takes the key from its holder, and revokes the session
type step struct {
	kind            history.Kind
	session, holder string
	token           uint64
}

func (s *story) operations() (all []porcupine.Operation) {
	add := func(o step, from, to int) {
		all = append(all, porcupine.Operation{Input: o, Call: int64(from), Return: int64(to)})
	}
	for _, h := range s.holders {
		add(step{history.Grant, h.first.Owner, h.Owner, h.Token}, h.requested, h.granted)
		add(step{h.end, h.first.Owner, h.Owner, h.Token}, h.endFrom, h.endBy)
	}
	for _, f := range s.faults {
		add(step{kind: history.Fault}, f.from, f.to)
	}
	return all
}

// lockState is the session and the holder of a key. A revoked session is one whose key the server took away. Until its
// process notices, it hands the lock off as before, and excludes only its own holders.
type lockState struct {
	grant
	token   uint64
	revoked []grant
}

// grant is a session and its holder; without a holder the lock is between two, or free.
type grant struct{ session, holder string }

func lockModel(tokens bool) porcupine.Model {
	return porcupine.Model{
		Init:  func() any { return lockState{} },
		Step:  func(s, input, _ any) (bool, any) { return s.(lockState).next(input.(step), tokens) },
		Equal: func(one, two any) bool { return one.(lockState).equal(two.(lockState)) },
	}
}

func (s lockState) equal(other lockState) bool {
	return s.grant == other.grant && s.token == other.token && slices.Equal(s.revoked, other.revoked)
}

// next returns the state after o, if o may happen now. Without tokens only mutual exclusion counts.
func (s lockState) next(o step, tokens bool) (bool, lockState) {
	revoked := slices.IndexFunc(s.revoked, func(g grant) bool { return g.session == o.session })
	switch {
	case o.kind == history.Fault && s.session != "":
		s.revoked = append(slices.Clone(s.revoked), s.grant)
		s.grant = grant{}
	case o.kind == history.Fault:
	case o.kind != history.Grant && s.holder == o.holder:
		s.holder = ""
	case o.kind != history.Grant && revoked >= 0 && s.revoked[revoked].holder == o.holder:
		s.revoked = slices.Clone(s.revoked)
		s.revoked[revoked].holder = ""
	case o.kind != history.Grant: // the end of a holder that is not granted yet: an owner is granted once
		return false, s
	case revoked >= 0:
		if s.revoked[revoked].holder != "" {
			return false, s
		}
		s.revoked = slices.Clone(s.revoked)
		s.revoked[revoked].holder = o.holder
	case s.holder != "" || tokens && o.token > 0 && o.token <= s.token:
		return false, s
	default:
		s.grant, s.token = grant{o.session, o.holder}, max(o.token, s.token)
	}
	return true, s
}

// never is the position of an event that did not happen.
const never = math.MaxInt32

// holder is a Holder with the positions of its events in the order of time.
type holder struct {
	history.Holder
	requested, granted int
	end                history.Kind // Release, Lose or Die
	endFrom, endBy     int
	first              *holder // a session is a grant by the server and all hand-offs of it: this is its first holder
}

// positions numbers events in the order of time, from 1. Events at one moment keep the order in which they were recorded.
type positions struct {
	of     map[int]int // by Seq
	sorted []history.Event
}

func newPositions(events []history.Event) positions {
	p := positions{make(map[int]int), slices.Clone(events)}
	slices.SortStableFunc(p.sorted, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	for i, e := range p.sorted {
		p.of[e.Seq] = i + 1
	}
	return p
}

// instant is the position of the first event after a position that has the same time as e.
func (p positions) instant(e history.Event, after int) int {
	from := p.of[e.Seq]
	for from > after && p.sorted[from-2].At == e.At {
		from--
	}
	return from
}

func holders(events []history.Event) (all []*holder) {
	at, numbered := newPositions(events), make(map[int]history.Event)
	for _, e := range events {
		numbered[e.Seq] = e
	}
	for _, one := range history.Holders(events) {
		h := &holder{Holder: one, endFrom: never, endBy: never}
		h.first = h
		for _, seq := range one.Seqs {
			switch e := numbered[seq]; e.Kind {
			case history.Request:
				h.requested = at.of[seq]
			case history.Grant:
				h.granted = at.of[seq]
				if h.requested == 0 {
					h.requested = h.granted
				}
				h.requested = min(h.requested, h.granted)
			default:
				h.ends(e, at)
			}
		}
		all = append(all, h)
	}
	return all
}

// ends takes an event that ends h. The first one counts. A loss takes effect at any moment of its instant, and a release at any moment
// until its success is known.
func (h *holder) ends(e history.Event, at positions) {
	position := max(h.granted, at.of[e.Seq])
	if h.end == "" {
		h.end, h.endFrom = e.Kind, position
		if e.Kind == history.Lose {
			h.endFrom = max(h.granted, at.instant(e, h.granted))
		}
		if e.Kind != history.Release {
			h.endBy = position
		}
	}
	if e.Kind == history.Released && h.end == history.Release && e.Text == "" {
		h.endBy = position
	}
}

// violation is one that these events show.
func violation(promise history.Promise, key, what string, seqs ...[]int) history.Violation {
	all := slices.Concat(seqs...)
	slices.Sort(all)
	return history.Violation{Promise: promise, Key: key, What: what, Events: slices.Compact(all)}
}
