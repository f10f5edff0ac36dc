package history

import (
	"sync"
	"time"
)

// Recorder collects the events of a run, and passes each on as it comes. Its methods may be called from many
// goroutines.
type Recorder struct {
	began time.Time
	pass  func(Event)

	mu     sync.Mutex
	events []Event
}

// NewRecorder returns a recorder whose time begins now. pass, if there is one, is called with each event, in order.
func NewRecorder(pass func(Event)) *Recorder { return &Recorder{began: time.Now(), pass: pass} }

// Add records e with its number and, unless it has one, its time.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Seq = len(r.events) + 1
	if e.At == 0 {
		e.At = time.Since(r.began)
	}
	r.events = append(r.events, e)
	if r.pass != nil {
		r.pass(e)
	}
}

// Now is the time on the recorder's clock.
func (r *Recorder) Now() time.Duration { return time.Since(r.began) }

// Events returns what was recorded so far.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.events...)
}
