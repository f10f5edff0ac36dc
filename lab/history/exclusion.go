package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// searchTimeout is how long porcupine may search for an order of the operations.
const searchTimeout = 20 * time.Second

// Exclusion compares each two holders of a key. The later one must be granted after the earlier one has ended, and with a
// larger fencing token. A fault of the server excuses a session that it may have ended. That two clients believe
// that they hold a lock is not yet damage: see [Counter], [Late] and [Winners] for what the resource saw.
func Exclusion(events []Event) (found []Violation) {
	for _, s := range stories(events) {
		for i, earlier := range s.holders {
			for _, later := range s.holders[i+1:] {
				if earlier.first != later.first && s.excused(earlier, later) {
					continue
				}
				seqs := sorted(earlier.Seqs, later.Seqs)
				if later.granted < earlier.endFrom {
					what := fmt.Sprintf("%s and %s both held %s", earlier.Timeline, later.Timeline, s.key)
					found = append(found, Violation{MutualExclusion, s.key, what, seqs})
				}
				if later.Token > 0 && later.Token <= earlier.Token {
					what := fmt.Sprintf("%s has the token %d, and before it %s had %d", later.Timeline, later.Token, earlier.Timeline, earlier.Token)
					found = append(found, Violation{GrowingTokens, s.key, what, seqs})
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
func stories(events []Event) (all []*story) {
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
		if e.Kind == Fault && e.Key != "" {
			faults[e.Owner] = &fault{seqs: []int{e.Seq}, from: at.of[e.Seq], to: never}
			s := of(e.Key)
			s.faults = append(s.faults, faults[e.Owner])
		}
		if f := faults[e.Owner]; e.Kind == Heal && e.Key != "" && f != nil {
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

// twice compares what Exclusion found with porcupine, which searches for an order of all operations that a lock
// allows. Where the two disagree one of them is wrong: an error. Beside a fault of the server porcupine is stricter,
// because it knows that one fault ends one session; then its violation is added.
func twice(events []Event, own []Violation) (found []Violation, err error) {
	for _, s := range stories(events) {
		pairs := slices.DeleteFunc(slices.Clone(own), func(v Violation) bool { return v.Key != s.key })
		broken, unknown := s.linear()
		switch {
		case unknown != nil:
			return nil, unknown
		case len(pairs) > 0 && broken == "":
			return nil, fmt.Errorf("%s: porcupine accepts the history, but %s", s.key, pairs[0].What)
		case len(pairs) == 0 && broken != "" && len(s.faults) == 0:
			return nil, fmt.Errorf("%s: porcupine rejects the history, but no two holders contradict each other", s.key)
		case len(pairs) == 0 && broken != "":
			pairs = []Violation{{Promise: broken, Key: s.key, What: "porcupine: no order of the operations is possible"}}
		}
		found = append(found, pairs...)
	}
	return found, nil
}

// linear asks porcupine whether the operations on a key have an order. broken is the promise that prevents it.
func (s *story) linear() (broken Promise, err error) {
	operations := s.operations()
	for _, m := range []struct {
		tokens bool
		broken Promise
	}{{true, ""}, {false, GrowingTokens}} {
		switch porcupine.CheckOperationsTimeout(lockModel(m.tokens), operations, searchTimeout) {
		case porcupine.Ok:
			return m.broken, nil
		case porcupine.Unknown:
			return "", fmt.Errorf("%s: porcupine found no answer within %s", s.key, searchTimeout)
		}
	}
	return MutualExclusion, nil
}

// step is an operation on a key. Each takes effect at one moment between its beginning and its end:
//
//	Grant  from the request to the grant: takes the free key
//	end    of a release from its call to its success, of a loss at its instant: the key is free. A later end would allow no
//	       other order, but the search would try it
//	Fault  of the server: takes the key from its holder, and revokes the session
type step struct {
	kind            Kind
	session, holder string
	token           uint64
}

func (s *story) operations() (all []porcupine.Operation) {
	add := func(o step, from, to int) {
		all = append(all, porcupine.Operation{Input: o, Call: int64(from), Return: int64(to)})
	}
	for _, h := range s.holders {
		add(step{Grant, h.first.Owner, h.Owner, h.Token}, h.requested, h.granted)
		add(step{h.end, h.first.Owner, h.Owner, h.Token}, h.endFrom, h.endBy)
	}
	for _, f := range s.faults {
		add(step{kind: Fault}, f.from, f.to)
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
	case o.kind == Fault && s.session != "":
		s.revoked = append(slices.Clone(s.revoked), s.grant)
		s.grant = grant{}
	case o.kind == Fault:
	case o.kind != Grant && s.holder == o.holder:
		s.holder = ""
	case o.kind != Grant && revoked >= 0 && s.revoked[revoked].holder == o.holder:
		s.revoked = slices.Clone(s.revoked)
		s.revoked[revoked].holder = ""
	case o.kind != Grant: // the end of a holder that is not granted yet: an owner is granted once
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
