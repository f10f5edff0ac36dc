package faultproxy

import "sync"

// hold is what is kept back.
type hold struct {
	match   func(Chunk) bool
	reply   bool // to the first request that match accepts
	asked   *conn
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
	return p.keepBack(&hold{match: match})
}

// HoldReply is Hold for the reply to the next request that match accepts: the first chunk to the client after that, as [Proxy.LoseReply]
// has it. The replies to later requests on other connections pass.
func (p *Proxy) HoldReply(match func(request Chunk) bool) (held <-chan struct{}, pass func()) {
	return p.keepBack(&hold{match: match, reply: true})
}

func (p *Proxy) keepBack(h *hold) (held <-chan struct{}, pass func()) {
	h.held, h.passes = make(chan struct{}), make(chan struct{})
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
func (f *flow) keptBack(c Chunk) <-chan struct{} {
	p := f.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hold
	if h == nil || p.Control != nil && p.Control(c) || !h.accepts(f.conn, c) {
		return nil
	}
	h.holding.Do(func() { close(h.held) })
	return h.passes
}

// accepts reports whether a chunk is kept back.
func (h *hold) accepts(from *conn, c Chunk) bool {
	if !h.reply {
		return h.match(c)
	}
	if h.asked == nil && c.Direction == ToServer && h.match(c) {
		h.asked = from
	}
	return h.asked == from && c.Direction == ToClient
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
