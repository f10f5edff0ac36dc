package claims

import (
	"sync"

	"locklab/experiments"
	"locklab/history"
)

// resource is what a lock protects: a counter that is read and written back plus one. It lives apart from the lock's
// servers, so that no fault of theirs touches it. With checks it refuses a write whose fence is smaller than
// one that it has seen.
type resource struct {
	t      *experiments.Trial
	key    string
	checks bool

	mu    sync.Mutex
	value int64
	fence uint64
}

func newResource(t *experiments.Trial, checks bool) *resource {
	return &resource{t: t, key: "counter", checks: checks && !t.Unfenced()}
}

func (r *resource) read(h *held) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Record(h.event(history.Event{Kind: history.Read, Key: r.key, Value: r.value}))
	return r.value
}

// write writes, unless the fence is stale.
func (r *resource) write(h *held, value int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kind := history.Write
	if r.checks && h.fence < r.fence {
		kind = history.Stale
	} else {
		r.value, r.fence = value, max(r.fence, h.fence)
	}
	r.t.Record(h.event(history.Event{Kind: kind, Key: r.key, Value: value}))
}

// add is the whole update.
func (r *resource) add(h *held) { r.write(h, r.read(h)+1) }

// final records what is there at the end.
func (r *resource) final() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t.Record(history.Event{Timeline: "resource", Kind: history.Final, Key: r.key, Value: r.value})
}
