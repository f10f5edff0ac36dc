package history

import (
	"fmt"
	"strings"
	"time"
)

// Notes that the rules read.
const (
	Unbounded   = "as long as it takes" // of Called, as the next
	Explicit    = "for "                // its beginning: with a lease that is not renewed
	Expired     = "expired"             // of Lost and Released, as the others
	Gone        = "gone"
	Forced      = "forced"
	Unreachable = "unreachable"
	Taken       = "taken" // of Refused
	Deadline    = "deadline"
	Canceled    = "canceled"
	Unavailable = "unavailable" // of Refused and Released
	Late        = "late request"
)

// order checks that a process serves its callers as they arrive. Two calls at the same instant may have
// arrived either way. Who was refused is in nobody's way.
func (s *story) order() []Violation {
	var broken []Violation
	for i, later := range s.holds {
		for _, earlier := range s.holds[:i] {
			if earlier.process == later.process && earlier.calledAt > later.calledAt {
				broken = append(broken, Violation{Order, s.key, fmt.Sprintf("in process %d attempt %d came after %d, and was served before it",
					earlier.process, earlier.attempt, later.attempt), []int{earlier.called, later.called, earlier.granted, later.granted}})
			}
		}
	}
	return broken
}

// notice checks that nobody relies on what a fault took away for longer than a lease: no renewal may be confirmed
// after it. It holds for those to whom the lease is handed off in the meantime, too.
func (s *story) notice(lease time.Duration) []Violation {
	var broken []Violation
	for _, f := range s.faults {
		for _, h := range s.holds {
			if lease > 0 && f.to < h.endFrom && h.tenureGranted < f.from && h.endAt > f.at+lease {
				broken = append(broken, Violation{Notice, s.key, fmt.Sprintf("attempt %d was relied on for %s after a fault took it away, the lease is %s",
					h.attempt, h.endAt-f.at, lease), []int{h.called, h.granted, f.from, f.to, h.endFrom}})
			}
		}
	}
	return broken
}

// plain checks what can be seen event by event. A release that is sent shortly before its explicit lease ends
// may arrive after it, and find nothing.
func plain(events []Event) []Violation {
	var broken []Violation
	calm, late := true, false
	asked, fences := make(map[int]string), make(map[int]uint64)
	for _, e := range events {
		calm = calm && e.Kind != Trouble && e.Kind != FaultFrom
		late = late || e.Kind == Trouble && strings.HasPrefix(e.Note, Late)
		switch e.Kind {
		case Called:
			asked[e.Attempt] = e.Note
		case Granted:
			fences[e.Attempt] = e.Fence
		}
		check, what := Check(""), ""
		switch {
		case e.Kind == Entered && e.Fence != fences[e.Attempt]:
			check, what = Entry, fmt.Sprintf("fence %d was entered again and is %d", fences[e.Attempt], e.Fence)
		case e.Kind == Refused && e.Note != Unavailable && asked[e.Attempt] == Unbounded:
			check, what = Waiting, "an unbounded wait ended: "+e.Note
		case calm && e.Kind == Refused && e.Note != Taken && e.Note != Deadline && e.Note != Canceled,
			calm && e.Kind == Lost && e.Note != Expired,
			calm && e.Kind == Released && e.Note != "" && e.Note != Expired && !(e.Note == Gone && strings.HasPrefix(asked[e.Attempt], Explicit)):
			check, what = Calm, "nothing was wrong, and it says "+e.Note
		case e.Kind == Left && !late: // a request that arrives after its own undoing locks until its lease ends
			check, what = Leftover, "nobody holds it, and the server has it still"
		}
		if check != "" {
			broken = append(broken, Violation{check, e.Key, what, []int{e.Seq}})
		}
	}
	return broken
}
