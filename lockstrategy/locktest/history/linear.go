package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience is how long porcupine may look for an order. Histories are short: it finds one at once, or there is none.
const patience = 20 * time.Second

// step is an operation on a key, as porcupine's model has it. Each takes effect at one moment between its
// beginning and its end:
//
//	grant  from the call to its return: takes the free key
//	end    of a release from its call to its return, of a loss at its instant: the key is free
//	fault  of the server: takes the key from whoever has it, and dooms the tenure in which it had it
type step struct {
	kind   Kind // Granted, Releasing, Lost or FaultFrom
	hold   int
	tenure int
	fence  uint64
}

// state is who has a key. A doomed tenure is one whose key the server took away: until its process notices, its
// lease is handed off as before, to one after the other, and excludes nobody else.
type state struct {
	seat
	fence  uint64
	doomed []seat
}

type seat struct{ tenure, holder int } // holder 0: between two, or over

func (s state) equal(other state) bool {
	return s.seat == other.seat && s.fence == other.fence && slices.Equal(s.doomed, other.doomed)
}

// next returns the state after o, if o may happen now. Without fences only exclusion counts.
func (s state) next(o step, fences bool) (bool, state) {
	at := slices.IndexFunc(s.doomed, func(d seat) bool { return d.tenure == o.tenure })
	switch {
	case o.kind == FaultFrom && s.tenure != 0:
		s.doomed = append(slices.Clone(s.doomed), s.seat)
		s.seat = seat{}
	case o.kind == FaultFrom:
	case o.kind != Granted && s.holder == o.hold:
		s.holder = 0
	case o.kind != Granted && at >= 0 && s.doomed[at].holder == o.hold:
		s.doomed = slices.Clone(s.doomed)
		s.doomed[at].holder = 0
	case o.kind != Granted: // it ends as soon as it begins, at one instant
	case at >= 0:
		if s.doomed[at].holder != 0 {
			return false, s
		}
		s.doomed = slices.Clone(s.doomed)
		s.doomed[at].holder = o.hold
	case s.holder != 0 || fences && o.fence > 0 && o.fence <= s.fence:
		return false, s
	default:
		s.seat, s.fence = seat{o.tenure, o.hold}, max(o.fence, s.fence)
	}
	return true, s
}

func model(fences bool) porcupine.Model {
	return porcupine.Model{
		Init:  func() any { return state{} },
		Step:  func(s, input, _ any) (bool, any) { return s.(state).next(input.(step), fences) },
		Equal: func(one, two any) bool { return one.(state).equal(two.(state)) },
	}
}

// linear asks porcupine whether an order of all operations exists. unsure says why there is no answer.
func (s *story) linear() (found []Violation, unsure string) {
	operations := s.operations()
	switch porcupine.CheckOperationsTimeout(model(true), operations, patience) {
	case porcupine.Ok:
		return nil, ""
	case porcupine.Unknown:
		return nil, fmt.Sprintf("porcupine has no answer after %s", patience)
	}
	check := Fence
	if porcupine.CheckOperationsTimeout(model(false), operations, patience) == porcupine.Illegal {
		check = Exclusion
	}
	return []Violation{{Check: check, Key: s.key, What: "porcupine: no order of the operations is possible"}}, ""
}

func (s *story) operations() []porcupine.Operation {
	var all []porcupine.Operation
	add := func(o step, from, to int) {
		all = append(all, porcupine.Operation{ClientId: o.hold, Input: o, Call: int64(from), Return: int64(to)})
	}
	for _, h := range s.holds {
		add(step{Granted, h.attempt, h.tenure, h.fence}, h.called, h.granted)
		add(step{h.end, h.attempt, h.tenure, h.fence}, h.endFrom, h.endBy)
	}
	for _, f := range s.faults {
		add(step{kind: FaultFrom, hold: f.attempt}, f.from, f.to)
	}
	return slices.Clip(all)
}
