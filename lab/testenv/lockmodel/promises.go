// Package lockmodel judges the histories of a model test by the promises of a lock. It has two checkers: its own names the events of a
// violation, and porcupine decides whether an order of the operations is possible. It judges history's checks by porcupine as well.
//
// What is NOT checked: a process that does not run, because its lease's context cannot end in time.
package lockmodel

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/lab/history"
)

// The promises, beside those of [history.Exclusion]. Here mutual exclusion is one holder until the lock is lost, or until a fault of the
// server.
const (
	ArrivalOrder history.Promise = "order of arrival"   // a process serves its callers first in, first out
	Notice       history.Promise = "notice of the loss" // the holder whose key was taken away learns it within a lease
	Reentrance   history.Promise = "re-entrance"        // a holder that enters again has the same token
	Waiting      history.Promise = "unbounded wait"     // it ends with the lock, unless the server cannot be reached
	Calm         history.Promise = "calm"               // without a fault no lock is lost, and no request fails
	Leftover     history.Promise = "nothing left"       // a key that no client holds is not locked
)

// The names of events that [Check] reads. A fault with a key says that the server may forget the grant of that key, at one moment from
// there to the heal of the same owner. Without a key it excuses no overlap.
const (
	Unbounded   = "unbounded"    // a request waits as long as it takes
	Explicit    = "explicit"     // the lease of a request is not renewed
	LateRequest = "late request" // a fault: a request arrives after its sender timed out
)

// ErrNothingGranted says that no lock was ever granted: nothing speaks against the history, and nothing for it.
var ErrNothingGranted = errors.New("nothing was granted")

// Check finds the promises that the events violate. lease is that of a lock that is not renewed; 0: there is no server.
// An error says that the events show nothing, whatever was found: they are incomplete, porcupine and our own checks
// disagree, or it is [ErrNothingGranted].
//
// Events must have the clock of a testing/synctest bubble, where no time passes while a goroutine runs. So a loss is recorded
// at the instant at which the lease's context ended. And of two requests at different instants the first has arrived first.
func Check(events []history.Event, lease time.Duration) ([]history.Violation, error) {
	if err := complete(events); err != nil {
		return nil, fmt.Errorf("the history is incomplete: %w", err)
	}
	found, err := twice(events, exclusion(events))
	for _, s := range stories(events) {
		found = slices.Concat(found, s.order(), s.notice(lease))
	}
	found = append(found, single(events)...)
	granted := slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == history.Grant })
	if err == nil && len(found) == 0 && !granted {
		err = ErrNothingGranted
	}
	return found, err
}

// complete reports what is missing: numbers and times in order, one request before each grant, one end after it.
func complete(events []history.Event) error {
	requested, open := make(map[string]bool), make(map[string]bool)
	for i, e := range events {
		if e.Seq != i+1 || i > 0 && e.At < events[i-1].At {
			return fmt.Errorf("event %d has the number %d and the time %s", i+1, e.Seq, e.At)
		}
		_, granted := open[e.Owner]
		switch e.Kind {
		case history.Request:
			requested[e.Owner] = true
		case history.Grant:
			if !requested[e.Owner] || granted {
				return fmt.Errorf("%s: not requested, or granted twice", e)
			}
			open[e.Owner] = true
		case history.Release, history.Released, history.Lose:
			if !granted {
				return fmt.Errorf("%s: not granted", e)
			}
			open[e.Owner] = false
		}
	}
	for owner, is := range open {
		if is {
			return fmt.Errorf("%s never ended", owner)
		}
	}
	return nil
}

// order checks that a process serves its callers as they arrive. Two requests at the same instant may have arrived either
// way. A refused request delays nobody.
func (s *story) order() (found []history.Violation) {
	for i, later := range s.holders {
		for _, earlier := range s.holders[:i] {
			if earlier.Process == later.Process && earlier.Requested > later.Requested {
				what := fmt.Sprintf("in %s %s arrived after %s and was served before it", earlier.Process, earlier.Owner, later.Owner)
				found = append(found, violation(ArrivalOrder, s.key, what, earlier.Seqs, later.Seqs))
			}
		}
	}
	return found
}

// notice checks that no holder relies on a lock for longer than a lease after a fault took it away. No renewal may be
// confirmed after the fault. A holder to which the lock was handed off in the meantime has the same bound.
func (s *story) notice(lease time.Duration) (found []history.Violation) {
	for _, f := range s.faults {
		for _, h := range s.holders {
			if lease > 0 && f.to < h.endFrom && h.first.granted < f.from && h.Ends > f.over+lease {
				what := fmt.Sprintf("%s relied on the lock for %s after a fault took it away; the lease is %s", h.Owner, h.Ends-f.over, lease)
				found = append(found, violation(Notice, s.key, what, h.Seqs, f.seqs))
			}
		}
	}
	return found
}

// single checks what one event shows, given those before it. A release that is sent shortly before the end of an explicit
// lease may arrive after it and find no lock. A request that arrives after its own compensation locks until its lease ends.
func single(events []history.Event) (found []history.Violation) {
	calm, late := true, false
	asked, tokens := make(map[string]string), make(map[string]uint64) // by owner
	for _, e := range events {
		calm = calm && e.Kind != history.Fault
		late = late || e.Kind == history.Fault && e.Name == LateRequest
		promise, what := history.Promise(""), ""
		switch {
		case e.Kind == history.Request:
			asked[e.Owner] = e.Name
		case e.Kind == history.Grant:
			tokens[e.Owner] = e.Token
		case e.Kind == history.Reenter && e.Token != tokens[e.Owner]:
			promise, what = Reentrance, fmt.Sprintf("the holder with the token %d entered again with the token %d", tokens[e.Owner], e.Token)
		case e.Kind == history.Refuse && e.Text != history.Unavailable && asked[e.Owner] == Unbounded:
			promise, what = Waiting, "an unbounded wait ended: "+e.Text
		case calm && unexpected(e, asked[e.Owner] == Explicit):
			promise, what = Calm, "without a fault: "+e.Text
		case e.Kind == history.Left && !late:
			promise, what = Leftover, "no client holds the key, and the server stores it"
		}
		if promise != "" {
			found = append(found, violation(promise, e.Key, what, []int{e.Seq}))
		}
	}
	return found
}

// unexpected reports whether only a fault explains e. explicit: its lease is not renewed.
func unexpected(e history.Event, explicit bool) bool {
	switch e.Kind {
	case history.Refuse:
		return e.Text != history.Taken && e.Text != history.Deadline && e.Text != history.Canceled
	case history.Lose:
		return e.Text != history.Expired
	case history.Released:
		return e.Text != "" && e.Text != history.Expired && !(explicit && e.Text == history.Gone)
	}
	return false
}
