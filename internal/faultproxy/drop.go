package faultproxy

import "slices"

// drop chooses the data that is dropped.
type drop struct {
	direction Direction
	match     func(label string) bool // nil: every connection
}

// Dropped counts what was dropped since the proxy was made.
type Dropped struct {
	Bytes       int64
	Connections int   // that led nowhere
	Passed      int64 // bytes that arrived in the other direction, while only one was dropped
}

// Drop loses the data of every connection in a direction, as a network partition does, until Mend: no side is notified, and
// connections stay open. A new connection leads nowhere, also when only one direction is dropped: it cannot begin without an
// answer. When Drop returns, nothing more arrives.
func (p *Proxy) Drop(d Direction) { p.DropMatching(d, nil) }

// DropMatching is Drop for the connections whose label match accepts. A new connection is passed on until it has such a label.
func (p *Proxy) DropMatching(d Direction, match func(label string) bool) {
	p.mu.Lock()
	p.drops = append(p.drops, drop{d, match})
	p.mu.Unlock()
	p.settle()
}

// DropExisting is Drop for the connections that there are now, in both directions, as when a router has forgotten them. New connections
// are passed on. It returns how many connections there are.
func (p *Proxy) DropExisting() (connections int) {
	p.mu.Lock()
	for c := range p.conns {
		c.forgotten = true
	}
	connections = len(p.conns)
	p.mu.Unlock()
	p.settle()
	return connections
}

// Dropped returns what was dropped so far.
func (p *Proxy) Dropped() Dropped {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// dropsConnection reports whether a new connection leads nowhere, and counts it. The caller holds mu.
func (p *Proxy) dropsConnection() bool {
	drops := slices.ContainsFunc(p.drops, func(d drop) bool { return d.direction != 0 && d.match == nil })
	if drops {
		p.dropped.Connections++
	}
	return drops
}

// drop reports whether data of this flow is dropped, and counts it.
func (f *flow) drop(data []byte) bool {
	p := f.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	drops, other := f.forgotten, false
	for _, d := range p.drops {
		if d.direction != 0 && (d.match == nil || d.match(f.label)) {
			drops, other = drops || d.direction&f.direction != 0, true
		}
	}
	if drops {
		f.dropped = true
		p.dropped.Bytes += int64(len(data))
	} else if other {
		p.dropped.Passed += int64(len(data))
	}
	return drops
}

// discard drops what the client sends on a connection that leads nowhere.
func (c *conn) discard() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := c.client.Read(buffer)
		c.proxy.mu.Lock()
		c.proxy.dropped.Bytes += int64(n)
		c.proxy.mu.Unlock()
		if err != nil {
			return
		}
	}
}
