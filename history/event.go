// Package history is what an experiment recorded, and what can be seen in it.
//
// A history is a list of events: who asked for which key, got it and gave it back, what the resource behind the lock
// saw, and which faults there were. Beliefs (that one has the lock) stand beside effects (what the resource holds):
// a claim is judged by effects wherever there are some. Everything that looks at a history is a pure
// function of its events.
//
// What is NOT guaranteed: that events of two processes are in their true order closer than the error of the offset
// between their clocks, which the run's header names.
package history

import (
	"fmt"
	"strings"
	"time"
)

// Kind is what happened.
type Kind string

// What a client believes about a lock.
const (
	Request  Kind = "ask"    // it asks for the key
	Grant    Kind = "grant"  // it has it; with a fence, where the lock issues one
	Refuse   Kind = "refuse" // it has not, and why
	Lose     Kind = "lose"   // it has learnt that it no longer has it, and why
	Release  Kind = "give"   // it begins to give it back
	Released Kind = "gave"   // what it was told about that
	Die      Kind = "die"    // it stops for good, whatever it holds
)

// What the resource saw, and what it holds.
const (
	Read  Kind = "read"  // a client read a value
	Write Kind = "write" // it wrote a value, and the resource confirmed that
	Stale Kind = "stale" // the resource refused a write, because of its fence
	Win   Kind = "win"   // the resource has noted that a client won
	Final Kind = "final" // the value that the resource holds at the end
)

// What else there is.
const (
	Command Kind = "command" // one command to a server, and its answer
	Fault   Kind = "fault"   // something was broken; with the proof that it was
	Heal    Kind = "heal"    // that is over
	Measure Kind = "measure" // a number: Value, in the unit that Text names
	Note    Kind = "note"    // something a reader should know
)

// Event is one thing that happened.
type Event struct {
	Seq      int           `json:"seq"`               // its number in the run, from 1
	Variant  string        `json:"arm"`               // which arm of the experiment, by name
	Trial    int           `json:"trial"`             // of the arm, from 1
	At       time.Duration `json:"at_ns"`             // since the run began, by the monotonic clock of Process
	Process  string        `json:"process,omitempty"` // whose clock; empty: the lab's own
	Timeline string        `json:"lane"`              // who: a client or a node, as a drawing names it
	Kind     Kind          `json:"kind"`
	Key      string        `json:"key,omitempty"`
	Owner    string        `json:"owner,omitempty"` // of the lock, one for each attempt: it joins an Ask and what came of it
	Token    uint64        `json:"fence,omitempty"`
	Value    int64         `json:"value,omitempty"`
	Text     string        `json:"text,omitempty"`
	Proof    string        `json:"proof,omitempty"` // of a fault: what was seen of it
}

// Summary is the event in a few words, for a lane.
func (e Event) Summary() string {
	var words []string
	switch e.Kind {
	case Command, Note:
		return e.Text
	case Read, Write, Final, Stale:
		words = append(words, string(e.Kind), fmt.Sprint(e.Value))
	case Measure:
		words = append(words, fmt.Sprint(e.Value))
	case Fault:
		return "✗ " + e.Text
	case Heal:
		return "✓ " + e.Text
	default:
		words = append(words, string(e.Kind))
	}
	if e.Token > 0 {
		words = append(words, fmt.Sprintf("fence %d", e.Token))
	}
	return strings.TrimRight(strings.Join(append(words, e.Text), " "), " ")
}

// String is the event as one line.
func (e Event) String() string {
	return strings.TrimRight(fmt.Sprintf("%5d %10s  %-10s %s", e.Seq, e.At.Round(time.Microsecond), e.Timeline, e.Summary()), " ")
}

// Of returns the events of one trial of an arm.
func Of(events []Event, arm string, trial int) (all []Event) {
	for _, e := range events {
		if e.Variant == arm && e.Trial == trial {
			all = append(all, e)
		}
	}
	return all
}

// Violation is something that a check found, and the numbers of the events that show it.
type Violation struct {
	What   string `json:"what"`
	Events []int  `json:"events"`
}
