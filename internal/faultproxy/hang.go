package faultproxy

// Hang stops the traffic in both directions until Mend. Connections stay up, and what was sent arrives later. When Hang
// returns, nothing more arrives.
func (p *Proxy) Hang() {
	p.mu.Lock()
	if p.hung == nil {
		p.hung = make(chan struct{})
	}
	p.mu.Unlock()
	p.settle()
}

// begin begins a write when the proxy does not hang. It reports false when the connection was closed before.
// The caller must take the element from f.writing in both cases.
func (f *flow) begin() bool {
	for {
		f.writing <- struct{}{}
		f.proxy.mu.Lock()
		hung := f.proxy.hung
		f.proxy.mu.Unlock()
		if hung == nil || f.closed.Err() != nil {
			return f.closed.Err() == nil
		}
		<-f.writing
		select {
		case <-hung:
		case <-f.closed.Done():
		}
	}
}
