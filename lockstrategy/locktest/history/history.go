// Package history says what happened to locks, and checks whether it may have: exclusion until loss, growing
// fences, the order of arrival in a process, and that a loss is noticed. The checks are pure functions of recorded
// events. Package model records them.
//
// What is NOT checked: anything about a process that does not run, for which a lease's context cannot end in
// time; and order between processes.
//
// Events are numbered in the order in which they were recorded, and have the time of a testing/synctest
// bubble. There no time passes while anybody runs, which makes two things exact that a real clock blurs: a loss is
// recorded at the very instant at which the lease's context ended, and of two calls at different instants
// the first has surely arrived before the second.
package history

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Kind is what happened.
type Kind string

// The kinds of events.
const (
	Called    Kind = "called"    // a caller asks for a key
	Granted   Kind = "granted"   // it has it, with a fence
	Refused   Kind = "refused"   // it has not, with the reason
	Entered   Kind = "entered"   // it has acquired once more what it holds, with a fence
	Releasing Kind = "releasing" // it gives the lease up
	Released  Kind = "released"  // what it was told about that
	Lost      Kind = "lost"      // the lease's context ended, with the cause
	FaultFrom Kind = "fault"     // the server is made to break its word about a key, not before this
	FaultTo   Kind = "faulted"   // not after this
	Trouble   Kind = "trouble"   // a fault of the network: it excuses no overlap
	Left      Kind = "left"      // in the end, when nobody holds it, the server has the key still
)

// Event is one thing that happened.
type Event struct {
	Seq     int           // its number
	At      time.Duration // since the run began
	Kind    Kind
	Process int
	Caller  int
	Key     string
	Attempt int    // which acquisition, or which fault, it belongs to
	Fence   uint64 // of Granted and Entered
	Note    string // how it was asked for, or why it ended as it did; "" for good
}

// String is the event as one line.
func (e Event) String() string {
	who := fmt.Sprintf("process %d caller %d", e.Process, e.Caller)
	if e.Kind == FaultFrom || e.Kind == FaultTo || e.Kind == Left {
		who = "server"
	}
	line := fmt.Sprintf("%5d %12s  %-20s %-9s %s #%d", e.Seq, e.At, who, e.Kind, e.Key, e.Attempt)
	if e.Fence > 0 {
		line += fmt.Sprintf(" fence %d", e.Fence)
	}
	return strings.TrimRight(line+" "+e.Note, " ")
}

// Recorder collects events. Its methods may be called from many goroutines.
type Recorder struct {
	mu      sync.Mutex
	began   time.Time
	events  []Event
	attempt int
}

// NewRecorder returns a recorder whose time begins now.
func NewRecorder() *Recorder { return &Recorder{began: time.Now()} }

// Attempt returns a number for an acquisition or a fault.
func (r *Recorder) Attempt() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempt++
	return r.attempt
}

// Add records e, and sets its number and its time.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Seq, e.At = len(r.events)+1, time.Since(r.began)
	r.events = append(r.events, e)
}

// Events returns what was recorded so far.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.events...)
}
