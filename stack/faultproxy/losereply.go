package faultproxy

// loss is a reply that is still to be lost.
type loss struct {
	match func(Chunk) bool
	then  func(Chunk)
	asked map[*conn]bool // the connections on which a request has arrived since
}

// LoseReply loses the next chunk to a client that match accepts, and closes its connection. The server has executed the request, and
// the client cannot know it. A match of nil accepts every chunk. LoseReply calls then, unless it is nil, with the lost chunk before
// it closes the connection; then may make another fault. Mend cancels a loss that has not happened yet.
//
// A reply is not lost on a connection on which no request has arrived since the call: its request is older. That is exact for clients
// that send no request before the last one on the connection has been answered.
func (p *Proxy) LoseReply(match func(Chunk) bool, then func(Chunk)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loss = &loss{match, then, make(map[*conn]bool)}
}

// loses reports whether a chunk is the one to be lost.
func (f *flow) loses(c Chunk) bool {
	p := f.proxy
	p.mu.Lock()
	l := p.loss
	if l != nil && c.Direction == ToServer {
		l.asked[f.conn] = true
	}
	if l == nil || c.Direction == ToServer || !l.asked[f.conn] || l.match != nil && !l.match(c) {
		p.mu.Unlock()
		return false
	}
	p.loss = nil
	p.mu.Unlock()
	if l.then != nil {
		l.then(c)
	}
	return true
}
