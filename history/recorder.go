package history

import (
	"slices"
	"sync"
	"time"
)

// Recorder collects the events of a run. Its methods may be called from many goroutines.
type Recorder struct {
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
}

// Began is when its time began.
func (r *Recorder) Began() time.Time { return r.began }

// Now is the time on the recorder's clock.
func (r *Recorder) Now() time.Duration { return time.Since(r.began) }

// Last returns what was recorded so far in the last trial.
func (r *Recorder) Last() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := len(r.events)
	for from > 0 && r.events[from-1].Variant == r.events[len(r.events)-1].Variant &&
		r.events[from-1].Trial == r.events[len(r.events)-1].Trial {
		from--
	}
	return slices.Clone(r.events[from:])
}

// Events returns what was recorded so far.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}
