package history

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// never is the number of an event that did not happen before the history's end.
const never = math.MaxInt32

// hold is one owner's time with a key.
type hold struct {
	attempt, process int
	fence            uint64
	called, granted  int // numbers of events
	calledAt         time.Duration
	endFrom, endBy   int // it ended between these
	endAt            time.Duration
	end              Kind // Releasing or Lost
	tenure           int  // the attempt with which the process got the key that was handed off since; its own if it was not
	tenureFrom       int  // when that one was called
	tenureGranted    int
}

// fault is a time in which the server broke its word about a key.
type fault struct {
	attempt  int
	from, to int
	at       time.Duration // when it was over; of no use when to is never
}

// story is what happened to one key.
type story struct {
	key    string
	holds  []*hold // as they were granted
	faults []*fault
}

var errIncomplete = errors.New("the history is incomplete")

// stories sorts events by key.
func stories(events []Event) (map[string]*story, error) {
	all := make(map[string]*story)
	holds, faults, calls := make(map[int]*hold), make(map[int]*fault), make(map[int]Event)
	for i, e := range events {
		if e.Seq != i+1 || i > 0 && e.At < events[i-1].At {
			return nil, fmt.Errorf("%w: event %d has number %d and time %s", errIncomplete, i+1, e.Seq, e.At)
		}
		if e.Key != "" && all[e.Key] == nil {
			all[e.Key] = &story{key: e.Key}
		}
		switch e.Kind {
		case Called:
			calls[e.Attempt] = e
		case Granted:
			call, asked := calls[e.Attempt]
			if !asked || holds[e.Attempt] != nil {
				return nil, fmt.Errorf("%w: %s was not asked for, or granted twice", errIncomplete, e)
			}
			h := &hold{attempt: e.Attempt, process: e.Process, fence: e.Fence, called: call.Seq, calledAt: call.At, granted: e.Seq, endFrom: never, endBy: never}
			holds[e.Attempt] = h
			all[e.Key].holds = append(all[e.Key].holds, h)
		case Releasing, Released, Lost:
			if holds[e.Attempt] == nil {
				return nil, fmt.Errorf("%w: %s was not granted", errIncomplete, e)
			}
			holds[e.Attempt].ended(e, events)
		case FaultFrom:
			faults[e.Attempt] = &fault{attempt: e.Attempt, from: e.Seq, to: never}
			all[e.Key].faults = append(all[e.Key].faults, faults[e.Attempt])
		case FaultTo:
			if f := faults[e.Attempt]; f != nil && e.Note == "" { // otherwise the server may do it later
				f.to, f.at = e.Seq, e.At
			}
		}
	}
	for _, s := range all {
		if err := s.complete(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ended takes note of how h ended: what comes first counts. A loss is at any moment of its instant.
func (h *hold) ended(e Event, events []Event) {
	switch {
	case e.Kind == Released:
		if h.end == Releasing && e.Note == "" {
			h.endBy = e.Seq
		}
	case h.end != "":
	case e.Kind == Releasing:
		h.end, h.endFrom, h.endAt = Releasing, e.Seq, e.At
	default:
		from := e.Seq
		for from > h.granted && events[from-2].At == e.At {
			from--
		}
		h.end, h.endFrom, h.endBy, h.endAt = Lost, from, e.Seq, e.At
	}
}

// complete finds out which holds were handed off: those with the next fence of the same process.
func (s *story) complete() error {
	last := make(map[int]*hold)
	for _, h := range s.holds {
		if h.end == "" {
			return fmt.Errorf("%w: attempt %d on %s never ended", errIncomplete, h.attempt, s.key)
		}
		h.tenure, h.tenureFrom, h.tenureGranted = h.attempt, h.called, h.granted
		if before := last[h.process]; before != nil && before.fence > 0 && before.fence+1 == h.fence {
			h.tenure, h.tenureFrom, h.tenureGranted = before.tenure, before.tenureFrom, before.tenureGranted
		}
		last[h.process] = h
	}
	return nil
}
