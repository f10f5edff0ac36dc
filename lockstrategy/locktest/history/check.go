package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verdict is the answer to whether a history may have happened. The zero verdict is inconclusive.
type Verdict int

// The verdicts.
const (
	Inconclusive Verdict = iota
	Supported
	Refuted
)

func (v Verdict) String() string { return [...]string{"inconclusive", "supported", "refuted"}[v] }

// Check names a promise.
type Check string

// The checks.
const (
	Exclusion Check = "exclusion" // one holder until it is lost, or until a fault of the server
	Fence     Check = "fence"     // fences grow from lease to lease
	Order     Check = "order"     // a process serves in the order of arrival
	Notice    Check = "notice"    // whose key was taken away learns it within a lease
	Entry     Check = "entry"     // who enters again has the same lease
	Waiting   Check = "waiting"   // who waits without a bound gets the lock, unless the server cannot be reached
	Calm      Check = "calm"      // without a fault nothing is lost, and nobody is refused
	Leftover  Check = "leftover"  // what nobody holds is not left locked
)

// Terms are what a history is checked against.
type Terms struct {
	Lease time.Duration // of a lease that is not renewed; 0: there is no server
}

// Violation is a broken promise, and the events that show it.
type Violation struct {
	Check  Check
	Key    string
	What   string
	Events []int // their numbers
}

// Report is the judgement of a history.
type Report struct {
	Verdict    Verdict
	Why        string // of an inconclusive one
	Violations []Violation
	Grants     int
}

// Caught reports whether check is among the violations.
func (r Report) Caught(check Check) bool {
	return slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Check == check })
}

// Empty reports whether nothing speaks against the history, and nothing for it: nobody ever had a lock.
func (r Report) Empty() bool { return r.Grants == 0 && r.Why == nothing }

const nothing = "nothing was granted"

// Judge checks events. Exclusion and fences are checked twice: by porcupine, which looks for an order of all
// operations that the lock's model allows, and by a comparison of each two leases. Where they do not agree one of
// them is wrong, and nothing is concluded.
func Judge(events []Event, terms Terms) Report {
	all, err := stories(events)
	if err != nil {
		return Report{Why: err.Error()}
	}
	r := Report{}
	for _, s := range all {
		r.Grants += len(s.holds)
		pairs := s.pairs()
		found, unsure := s.linear()
		if unsure == "" {
			unsure = disagreement(s, pairs, found)
		}
		if unsure != "" && r.Why == "" {
			r.Why = s.key + ": " + unsure
		}
		r.Violations = slices.Concat(r.Violations, longer(pairs, found), s.order(), s.notice(terms.Lease))
	}
	r.Violations = append(r.Violations, plain(events)...)
	switch {
	case r.Why != "":
	case len(r.Violations) > 0:
		r.Verdict = Refuted
	case r.Grants == 0:
		r.Why = nothing
	default:
		r.Verdict = Supported
	}
	return r
}

// longer prefers the violations that name their events.
func longer(pairs, found []Violation) []Violation {
	if len(pairs) > 0 {
		return pairs
	}
	return found
}

// disagreement compares the two checkers. Beside a fault the comparison of two leases excuses more than
// porcupine, which knows that one fault takes away one lease.
func disagreement(s *story, pairs, found []Violation) string {
	switch {
	case len(pairs) > 0 && len(found) == 0:
		return fmt.Sprintf("porcupine finds an order, and yet %s", pairs[0].What)
	case len(pairs) == 0 && len(found) > 0 && len(s.faults) == 0:
		return "porcupine finds no order, and yet no two leases contradict each other"
	}
	return ""
}

// Slice is the part of events that shows v: its own events and the faults between them.
func (v Violation) Slice(events []Event) string {
	if len(v.Events) == 0 {
		return render(events, func(e Event) bool { return e.Key == v.Key || e.Key == "" })
	}
	from, to := slices.Min(v.Events), slices.Max(v.Events)
	attempts := make(map[int]bool)
	for _, e := range events {
		if slices.Contains(v.Events, e.Seq) && e.Attempt > 0 {
			attempts[e.Attempt] = true
		}
	}
	return render(events, func(e Event) bool {
		fault := e.Kind == FaultFrom || e.Kind == FaultTo || e.Kind == Trouble
		return attempts[e.Attempt] || slices.Contains(v.Events, e.Seq) ||
			fault && (e.Key == v.Key || e.Key == "") && e.Seq >= from && e.Seq <= to
	})
}

func render(events []Event, wanted func(Event) bool) string {
	var lines []string
	for _, e := range events {
		if wanted(e) {
			lines = append(lines, e.String())
		}
	}
	return strings.Join(lines, "\n")
}
