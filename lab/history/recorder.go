package history

import (
	"slices"
	"sync"
	"time"
)

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
