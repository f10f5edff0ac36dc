package clients

import (
	"sync"

	"locklab/lab"
	"locklab/lab/history"
)

// Resource is what a lock protects: a counter that is read and written back plus one. It lives apart from the lock's
// servers, so that no fault of theirs affects it.
type Resource struct {
	Key string // in its events; another one only before its first use

	t             *lab.Trial
	checks, reads bool // fencing tokens: at all; at the read, too

	mu     sync.Mutex
	value  int64
	token  uint64 // the largest one that it has seen
	reader Holder // that has registered its token last; nil: none, or tokens are not checked at the read
}

const resourceKey = "counter"

// NewResource returns a resource whose value is recorded at the end of the trial. With checks a holder registers its fencing token at
// the read: a larger one than the last, and each once. Only the holder that has registered last may write. Without a token nothing is
// checked.
func NewResource(t *lab.Trial, checks bool) *Resource {
	r := &Resource{Key: resourceKey, t: t, checks: checks, reads: checks}
	t.Cleanup(func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		t.Record(history.Event{Timeline: "resource", Kind: history.Final, Key: r.Key, Value: r.value})
		return nil
	})
	return r
}

// ChecksWrites lets the resource check fencing tokens at the write only, which has a gap.
func (r *Resource) ChecksWrites() { r.reads = false }

// Read returns the value. A refused holder is refused at the write as well.
func (r *Resource) Read(h Holder) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	token, e := h.FencingToken(), history.Event{Kind: history.Read, Key: r.Key, Value: r.value}
	if r.reads && token > 0 && token <= r.token {
		e.Kind, e.Name = history.Stale, history.RefusedRead
	} else if r.reads && token > 0 {
		r.token, r.reader = token, h
	}
	h.Record(e)
	return r.value
}

// Write writes a value, unless the token is stale.
func (r *Resource) Write(h Holder, value int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	token, kind := h.FencingToken(), history.Write
	switch {
	case r.checks && token < r.token, r.reads && token > 0 && h != r.reader:
		kind = history.Stale
	default:
		r.value, r.token = value, max(r.token, token)
	}
	h.Record(history.Event{Kind: kind, Key: r.Key, Value: value})
}

// Add reads the value and writes it back plus one.
func (r *Resource) Add(h Holder) { r.Write(h, r.Read(h)+1) }

// Any is a check that finds what any of checks finds.
func Any(checks ...func([]history.Event) []history.Violation) func([]history.Event) []history.Violation {
	return func(trial []history.Event) (found []history.Violation) {
		for _, check := range checks {
			found = append(found, check(trial)...)
		}
		return found
	}
}

// Noted is a check that finds the notes with a mark.
func Noted(m history.Mark) func([]history.Event) []history.Violation {
	return func(trial []history.Event) []history.Violation { return history.Noted(trial, m) }
}

// Measured finds what was measured of a timeline.
func Measured(trial []history.Event, timeline string, of lab.Quantity) (history.Event, bool) {
	for _, e := range trial {
		if e.Timeline == timeline && of.In(e) {
			return e, true
		}
	}
	return history.Event{}, false
}
