// Package history records what happened to locks, and checks it.
//
// A history is a list of events. They say which client requested a key, held it and released it. They say what the resource
// behind the lock saw, and which faults there were. Beliefs (a client holds the lock) stand beside effects (what the resource
// stores). The experiments judge by effects where there are some. Every check is a pure function of the events.
//
// What is NOT guaranteed: the true order of events of two processes while somebody sets the machine's clock.
package history

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is what happened.
type Kind string

// Beliefs of a client about a lock.
const (
	Request  Kind = "request"  // it requests the key
	Grant    Kind = "grant"    // it holds the key; with a fencing token, where the lock issues one
	Refuse   Kind = "refuse"   // it does not hold the key, and why
	Reenter  Kind = "reenter"  // the holder acquired the key once more, with a fencing token
	Lose     Kind = "lose"     // it learned that it no longer holds the key, and why
	Release  Kind = "release"  // it begins to release the key
	Released Kind = "released" // the result of the release; without a text it succeeded
	Die      Kind = "die"      // it stops for good, whatever it holds
)

// Effects on the resource.
const (
	Read  Kind = "read"  // a client read a value
	Write Kind = "write" // a client wrote a value, and the resource confirmed it
	Stale Kind = "stale" // the resource refused a write, or a read, because of its fencing token
	Win   Kind = "win"   // the resource recorded that a client won
	Final Kind = "final" // the value that the resource stores at the end
	Call  Kind = "call"  // a client called the resource, which has a limit
)

// Faults and everything else.
const (
	Fault   Kind = "fault"   // something was broken, with the proof
	Heal    Kind = "heal"    // the fault is over
	Left    Kind = "left"    // the server stores a lock that no client holds
	Command Kind = "command" // one command to a server, and its reply
	Measure Kind = "measure" // a number: Value, in Unit; Name says of what
	Note    Kind = "note"    // a remark for the reader
)

// Event is one thing that happened.
type Event struct {
	Seq      int           `json:"seq"`               // its number in the run, from 1
	Variant  string        `json:"variant"`           // of the experiment, by name
	Trial    int           `json:"trial"`             // of the variant, from 1
	At       time.Duration `json:"at_ns"`             // since the run began, as Process measured it
	Process  string        `json:"process,omitempty"` // of the client; empty: the lab's own
	Timeline string        `json:"timeline"`          // the client or node, as a drawing names it
	Kind     Kind          `json:"kind"`
	Key      string        `json:"key,omitempty"`
	Owner    string        `json:"owner,omitempty"` // of the lock, one for each attempt: it joins a Request and its results
	Token    uint64        `json:"token,omitempty"` // the fencing token
	Value    int64         `json:"value,omitempty"`
	Unit     string        `json:"unit,omitempty"`  // of the Value of a Measure
	Name     string        `json:"name,omitempty"`  // by which code finds the event, where its kind does not say enough
	Text     string        `json:"text,omitempty"`  // for people; code reads it in Refuse, Lose and Released, and the moves of an Interleaving
	Proof    string        `json:"proof,omitempty"` // of a fault: the observation that shows it
}

// Why a lock was refused, lost, or not released: the texts of Refuse, Lose and Released that code reads.
const (
	Taken       = "another client holds it"
	Expired     = "its lease ended"
	Forced      = "released by force"
	Gone        = "the server no longer has it"
	Unreachable = "no renewal was confirmed"
	Unavailable = "no reply from the server"
	Deadline    = "waited too long"
	Canceled    = "canceled"
)

// The names of events.
const (
	TimePasses   = "time passes"    // a Note: a moment of a trial without a clock ends
	RefusedRead  = "refused read"   // a Stale is a read
	RefusedAll   = "refused answer" // a Stale is the answer to a whole request: what it would have written is not known
	LeaseEnds    = "lease ends"     // a Note: the lease of the lock Key is over, so its holder works on without it
	Load         = "load"           // a Command: the database is asked for what a cache does not have
	Interleaving = "interleaving"   // a Note before an interleaving that is played: its Text has the moves
)

// Mark is what an event says, where code looks for it and its kind does not say enough. Notes, faults and locks that are left have marks.
type Mark struct {
	Name  string // in saved runs: it never changes
	Words string // for people, if they should read something else than the name
}

// On is the event with the mark.
func (m Mark) On(e Event) Event {
	e.Name, e.Text = m.Name, cmp.Or(m.Words, m.Name)
	return e
}

// In reports whether an event has the mark. Events that were saved before they had names have it as their text.
func (m Mark) In(e Event) bool { return cmp.Or(e.Name, e.Text) == m.Name }

// Summary is the event in a few words, for a timeline.
func (e Event) Summary() string { return e.summary("") }

// summary is Summary with the name of the key, if the trial needs one: see [KeyNames].
func (e Event) summary(key string) string {
	var words []string
	if key != "" {
		key += ":"
	}
	switch e.Kind {
	case Command, Note, Left:
		return e.Text
	case Read, Write, Final:
		words = append(words, string(e.Kind), key, fmt.Sprint(e.Value))
	case Stale:
		words = append(words, key, e.refused())
	case Measure:
		if words = append(words, fmt.Sprint(e.Value)); e.Unit != "" {
			words = append(words, e.Unit)
		}
		words = append(words, e.Name)
	case Fault:
		return "✗ " + e.Text
	case Heal:
		return "✓ " + e.Text
	default:
		words = append(words, string(e.Kind), key)
	}
	if e.Token > 0 {
		words = append(words, fmt.Sprintf("token %d", e.Token))
	}
	words = slices.DeleteFunc(append(words, e.Text), func(word string) bool { return word == "" })
	if last := len(words) - 1; key != "" && words[last] == key {
		words[last] = strings.TrimSuffix(key, ":")
	}
	return strings.TrimRight(strings.Join(words, " "), " ")
}

// refused says what a resource refused because of its fencing token.
func (e Event) refused() string {
	switch e.Name {
	case RefusedRead, RefusedAll:
		return e.Name
	}
	return fmt.Sprintf("refused write %d", e.Value)
}

// String is the event as one line.
func (e Event) String() string {
	line := fmt.Sprintf("%5d %10s  %-10s %s  %s %s", e.Seq, e.At.Round(time.Microsecond), e.Timeline, e.Summary(), e.Key, e.Owner)
	return strings.TrimRight(line, " ")
}

// Of returns the events of one trial of a variant.
func Of(events []Event, variant string, trial int) (all []Event) {
	for _, e := range events {
		if e.Variant == variant && e.Trial == trial {
			all = append(all, e)
		}
	}
	return all
}

// Promise is something that a lock promises.
type Promise string

// The promises that [Exclusion] checks.
const (
	MutualExclusion Promise = "mutual exclusion" // one holder at a time
	GrowingTokens   Promise = "growing tokens"   // fencing tokens grow from holder to holder
)

// Violation is something that must not happen, and the numbers of the events that show it.
type Violation struct {
	Promise Promise `json:"promise,omitempty"` // of the lock; empty: the violation is an effect on the resource
	Key     string  `json:"key,omitempty"`
	What    string  `json:"what"`
	Events  []int   `json:"events"`
}

// Recorder collects the events of a run. Its methods may be called from many goroutines.
type Recorder struct {
	// Added is called with each event, in the order of their numbers, before Add returns; nil: nobody is told. It is set before the first
	// event. It must be fast, because the other clients of the run wait meanwhile, and it must not call the recorder.
	Added func(Event)

	began time.Time

	mu     sync.Mutex
	events []Event
}

// NewRecorder returns a recorder whose time begins now.
func NewRecorder() *Recorder { return &Recorder{began: time.Now()} }

// Add records e with its number and, unless it has one, its time.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Seq = len(r.events) + 1
	if e.At == 0 {
		e.At = time.Since(r.began)
	}
	r.events = append(r.events, e)
	if r.Added != nil {
		r.Added(e)
	}
}

// Began is when its time began.
func (r *Recorder) Began() time.Time { return r.began }

// Now is the time on the recorder's clock.
func (r *Recorder) Now() time.Duration { return time.Since(r.began) }

// Events returns what was recorded so far.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// longest is how long a line may be.
const longest = 1 << 20

// Encode writes events, one JSON object in each line.
func Encode(w io.Writer, events ...Event) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, e := range events {
		if err := encoder.Encode(e); err != nil {
			return err
		}
	}
	return nil
}

// Decode reads what [Encode] wrote. With an error it returns the events before the damage. Damage is a line that is no event,
// that does not continue the numbers, or that ends in the middle.
func Decode(r io.Reader) (events []Event, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), longest)
	for lines.Scan() {
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		var e Event
		if err := decoder.Decode(&e); err != nil {
			return events, fmt.Errorf("line %d is no event: %w", len(events)+1, err)
		}
		if _, err := decoder.Token(); err != io.EOF { // More would not see a bracket that closes nothing
			return events, fmt.Errorf("line %d goes on after its event", len(events)+1)
		}
		if e.Seq != len(events)+1 {
			return events, fmt.Errorf("line %d has the event number %d", len(events)+1, e.Seq)
		}
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		return events, fmt.Errorf("after line %d: %w", len(events), err)
	}
	return events, nil
}
