package history

import "fmt"

// pairs compares each two leases: the later one was granted when the earlier one had ended, and has a higher
// fence. An order of all operations exists exactly then, as long as the server keeps its word: every grant can be put
// at its return, and every end at its beginning.
func (s *story) pairs() []Violation {
	var broken []Violation
	for i, later := range s.holds {
		for _, earlier := range s.holds[:i] {
			same := earlier.tenure == later.tenure
			if later.granted < earlier.endFrom && (same || !s.excused(earlier, later)) {
				broken = append(broken, Violation{Exclusion, s.key, fmt.Sprintf("attempt %d was granted while attempt %d held it",
					later.attempt, earlier.attempt), []int{earlier.called, later.called, earlier.granted, later.granted, min(earlier.endFrom, earlier.endBy)}})
			}
			if later.fence <= earlier.fence && later.fence > 0 && (same || !s.excused(earlier, later)) {
				broken = append(broken, Violation{Fence, s.key, fmt.Sprintf("attempt %d has fence %d, and before it attempt %d had %d",
					later.attempt, later.fence, earlier.attempt, earlier.fence), []int{earlier.called, later.called, earlier.granted, later.granted}})
			}
		}
	}
	return broken
}

// excused reports whether a fault took the key from one of the two before the later one was granted.
func (s *story) excused(earlier, later *hold) bool {
	for _, f := range s.faults {
		if f.from < later.granted && (f.to > earlier.tenureFrom || f.to > later.tenureFrom) {
			return true
		}
	}
	return false
}
