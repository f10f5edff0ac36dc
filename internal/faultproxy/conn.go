package faultproxy

import (
	"bytes"
	"context"
	"net"
	"sync"
	"time"
)

const (
	// writeTimeout ends a connection whose receiver does not read. It bounds how long a fault waits for writes that have begun.
	writeTimeout = 10 * time.Second

	// queueLength is how many chunks wait to be delivered before their sender is blocked. miniredis sends with a mutex locked, so
	// it must be more than what one client causes during a delay.
	queueLength = 1024
)

// conn is a connection of a client, and the one to the server that belongs to it.
type conn struct {
	proxy          *Proxy
	client, server net.Conn // no server: everything that the client sends is dropped
	closed         context.Context
	cancel         context.CancelFunc
	flows          []*flow

	label     string // guarded by proxy.mu
	dropped   bool   // data of it was dropped; guarded by proxy.mu
	forgotten bool   // all its data is dropped; guarded by proxy.mu
}

// run starts the goroutines of a connection.
func (c *conn) run() {
	p := c.proxy
	if c.server == nil {
		p.running.Go(func() { c.discard(); c.close(); p.remove(c) })
		return
	}
	c.flows = []*flow{newFlow(c, ToServer, c.client, c.server), newFlow(c, ToClient, c.server, c.client)}
	var delivering sync.WaitGroup
	for _, f := range c.flows {
		p.running.Go(f.receive)
		delivering.Go(f.deliver)
	}
	p.running.Go(func() { delivering.Wait(); p.remove(c) })
}

func (c *conn) close() {
	c.cancel()
	_ = c.client.Close()
	if c.server != nil {
		_ = c.server.Close()
	}
}

func (p *Proxy) remove(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.cancel()
	delete(p.conns, c)
}

// flow is one direction of a connection. It receives without waiting for what it delivers.
type flow struct {
	*conn
	direction Direction
	from, to  net.Conn
	queue     chan arrival
	due       time.Time     // of the last chunk
	writing   chan struct{} // has an element while a chunk is written
}

// arrival is data with the time at which it is delivered.
type arrival struct {
	data   []byte
	due    time.Time
	passes <-chan struct{} // see Hold; nil: it passes
}

func newFlow(c *conn, d Direction, from, to net.Conn) *flow {
	return &flow{conn: c, direction: d, from: from, to: to, queue: make(chan arrival, queueLength), writing: make(chan struct{}, 1)}
}

// receive reads until the sender closes. Chunks in the queue are still delivered.
func (f *flow) receive() {
	defer close(f.queue)
	buffer := make([]byte, 32<<10)
	for {
		n, err := f.from.Read(buffer)
		if n > 0 && !f.enqueue(f.chunk(bytes.Clone(buffer[:n]))) || err != nil {
			return
		}
	}
}

// chunk gives data its connection's label.
func (f *flow) chunk(data []byte) Chunk {
	p := f.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.direction == ToServer && p.Label != nil {
		f.label = p.Label(f.label, data)
	}
	return Chunk{f.direction, f.label, data}
}

// enqueue reports false when the connection is closed.
func (f *flow) enqueue(c Chunk) bool {
	if f.loses(c) {
		f.close()
		return false
	}
	f.due = f.dueTime(c)
	select {
	case f.queue <- arrival{c.Data, f.due, f.keptBack(c)}:
		return true
	case <-f.closed.Done():
		return false
	}
}

// deliver writes what was received, and then closes the receiver, as the sender has closed. After a failed write it closes the
// receiver as well, and what that has sent is still delivered in the other direction.
func (f *flow) deliver() {
	for a := range f.queue {
		f.sleepUntil(a.due)
		f.awaitPass(a.passes)
		if err := f.write(a.data); err != nil {
			_ = f.to.Close()
		}
	}
	if f.begin() && !f.drop(nil) {
		_ = f.to.Close()
	}
	<-f.writing
}

func (f *flow) write(data []byte) error {
	defer func() { <-f.writing }()
	if !f.begin() {
		return net.ErrClosed
	}
	if f.drop(data) {
		return nil
	}
	_ = f.to.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := f.to.Write(data)
	return err
}

// settle waits until every write that has begun is over: then a new fault acts on everything that follows.
func (p *Proxy) settle() {
	p.mu.Lock()
	var flows []*flow
	for c := range p.conns {
		flows = append(flows, c.flows...)
	}
	p.mu.Unlock()
	for _, f := range flows {
		f.writing <- struct{}{}
		<-f.writing
	}
}
