package claims

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"locklab/history"
)

// shares is how a lock was spread over those who wanted it.
type shares struct {
	grants  map[string]int // by lane; who had none is there, too
	jain    float64        // 1: all have the same; 1/n: one of n has everything
	longest time.Duration  // the longest wait, of who was never served until the end
	passed  int            // how often others were served during one wait, at most
	starved []int          // the events of that wait: the question, the last that others were served, the answer if there was one
}

// sharesOf looks at the grants of a history.
func sharesOf(events []history.Event) shares {
	s := shares{grants: make(map[string]int)}
	waits := make(map[string]history.Event) // by lane: since when
	others := make(map[string][]int)        // by lane: the grants to others meanwhile
	var end time.Duration
	for _, e := range events {
		switch e.Kind {
		case history.Request:
			s.grants[e.Timeline] += 0
			waits[e.Timeline], others[e.Timeline] = e, nil
		case history.Grant:
			for lane := range waits {
				if lane != e.Timeline {
					others[lane] = append(others[lane], e.Seq)
				}
			}
			s.grants[e.Timeline]++
			end = e.At
			s.waited(waits[e.Timeline], others[e.Timeline], e.At, e.Seq)
			delete(waits, e.Timeline)
		}
	}
	for _, lane := range slices.Sorted(maps.Keys(waits)) {
		s.waited(waits[lane], others[lane], end)
	}
	s.jain = jain(slices.Collect(maps.Values(s.grants)))
	return s
}

// waited notes a wait that began with ask.
func (s *shares) waited(ask history.Event, others []int, until time.Duration, answer ...int) {
	s.longest = max(s.longest, until-ask.At)
	if len(others) > s.passed {
		s.passed = len(others)
		s.starved = slices.Concat([]int{ask.Seq}, others[max(0, len(others)-10):], answer)
	}
}

// jain is Jain's index: (Σx)² / n·Σx².
func jain(all []int) float64 {
	sum, squares := 0, 0
	for _, x := range all {
		sum, squares = sum+x, squares+x*x
	}
	if squares == 0 {
		return 1
	}
	return float64(sum*sum) / float64(len(all)*squares)
}

// unfair finds shares that are not even.
func unfair(events []history.Event) []history.Violation {
	const even = 0.9
	s := sharesOf(events)
	if s.jain >= even {
		return nil
	}
	most := slices.Max(slices.Collect(maps.Values(s.grants)))
	return []history.Violation{{
		What:   fmt.Sprintf("Jain's index is %.2f: one of %d had the lock %d times, and one saw others have it %d times while it waited", s.jain, len(s.grants), most, s.passed),
		Events: s.starved,
	}}
}
