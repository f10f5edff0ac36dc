package faultproxy

import "sync"

// hold is a chunk that is kept back, with what follows it.
type hold struct {
	match   func(Chunk) bool
	held    chan struct{} // closed when a chunk is kept back
	passes  chan struct{} // closed when the chunks pass
	holding sync.Once
}

// Hold keeps back each chunk that match accepts, and what follows it in its direction of the connection, until pass is called. The other
// direction, and other connections, go on. A chunk passes although its sender has closed the connection, as a packet does that was under
// way. held is closed when the first chunk is kept back. match is called for one chunk at a time, in the order in which they arrive.
//
// There is one hold at a time: the next one begins when pass was called. Mend does not end it.
func (p *Proxy) Hold(match func(Chunk) bool) (held <-chan struct{}, pass func()) {
	h := &hold{match: match, held: make(chan struct{}), passes: make(chan struct{})}
	p.mu.Lock()
	p.hold = h
	p.mu.Unlock()
	return h.held, sync.OnceFunc(func() {
		p.mu.Lock()
		p.hold = nil
		p.mu.Unlock()
		close(h.passes)
	})
}

// keptBack is closed when a chunk that has arrived passes; nil: it passes now.
func (p *Proxy) keptBack(c Chunk) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hold
	if h == nil || p.Control != nil && p.Control(c) || !h.match(c) {
		return nil
	}
	h.holding.Do(func() { close(h.held) })
	return h.passes
}

// awaitPass returns when a chunk passes, or when the connection is closed.
func (f *flow) awaitPass(passes <-chan struct{}) {
	if passes == nil {
		return
	}
	select {
	case <-passes:
	case <-f.closed.Done():
	}
}
