package faultproxy

// Cut closes every connection, and new ones immediately, until Mend: both sides see the end. DialContext returns an error.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	p.closeConnections()
}

// Reset closes every connection. New ones are passed on.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeConnections()
}

// closeConnections closes every connection. The caller holds mu.
func (p *Proxy) closeConnections() {
	for c := range p.conns {
		c.close()
	}
}
