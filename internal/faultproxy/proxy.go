// Package faultproxy passes connections on between clients and a server, and breaks them on request. A fault is one small file:
// cut.go, drop.go, hang.go, hold.go, delay.go, losereply.go.
//
// A proxy works over any dialer and any listener, TCP or [net.Pipe]. It waits on channels and timers only, so it can be used inside
// a [testing/synctest] bubble. There DialContext takes the place of a listener.
//
// What is NOT guaranteed: a chunk is what one Read returned, so it may be less or more than a message. When the server refuses
// connections, the proxy accepts them and then closes them. There are no half-closed connections: the end of one direction closes
// the other.
package faultproxy

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Direction is a set of directions of a connection.
type Direction uint8

// The directions.
const (
	ToServer Direction = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// Opposite is the other direction, and Both for both.
func (d Direction) Opposite() Direction {
	if d == Both {
		return Both
	}
	return Both &^ d
}

// Chunk is data that one Read returned.
type Chunk struct {
	Direction Direction
	Label     string // of its connection: see Proxy.Label
	Data      []byte
}

// Proxy passes connections on to one server. Set its fields before the first connection.
type Proxy struct {
	// Label returns the new label of a connection after a request on it. Faults use it to choose connections. A connection begins
	// with the label "". nil: no connection has another one.
	Label func(label string, request []byte) string
	// Control reports whether a chunk belongs to the protocol, and is neither a request nor a reply: LoseReply does not count it. nil: there
	// is no such chunk.
	Control func(Chunk) bool

	dialServer func(context.Context) (net.Conn, error)
	running    sync.WaitGroup
	closing    context.Context // ends with Close
	cancel     context.CancelFunc

	mu        sync.Mutex
	listeners []net.Listener
	conns     map[*conn]struct{}
	cut       bool
	hung      chan struct{} // closed when the hang ends; nil: no hang
	delay     func(Chunk) time.Duration
	loss      *loss
	hold      *hold
	drops     []drop
	dropped   Dropped
}

// New makes a proxy without faults. dialServer opens a connection to the server.
func New(dialServer func(context.Context) (net.Conn, error)) *Proxy {
	p := &Proxy{dialServer: dialServer, conns: make(map[*conn]struct{})}
	p.closing, p.cancel = context.WithCancel(context.Background())
	return p
}

// TCP returns a function for [New] that dials addr.
func TCP(addr string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", addr) }
}

// Listen serves on a free port of the loopback interface, and returns its address.
func (p *Proxy) Listen() (addr string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	p.Serve(l)
	return l.Addr().String(), nil
}

// Serve accepts the connections of a listener in the background. The proxy owns the listener: Close closes it.
func (p *Proxy) Serve(l net.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing.Err() != nil {
		_ = l.Close()
		return
	}
	p.listeners = append(p.listeners, l)
	p.running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { _ = p.connect(p.closing, client) })
		}
	})
}

// DialContext opens a connection to the server in memory. It has the signature of a dialer; network and address are ignored.
func (p *Proxy) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	outer, inner := net.Pipe()
	if err := p.connect(ctx, inner); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "faultproxy", Err: err}
	}
	return outer, nil
}

// connect joins a client's connection with one to the server. After an error the client's connection is closed.
func (p *Proxy) connect(ctx context.Context, client net.Conn) error {
	p.mu.Lock()
	if p.dropsConnection() {
		defer p.mu.Unlock()
		return p.add(&conn{proxy: p, client: client, dropped: true})
	}
	p.mu.Unlock()
	server, err := p.dialServer(ctx)
	if err != nil {
		_ = client.Close()
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.add(&conn{proxy: p, client: client, server: server})
}

// add runs a connection, unless the proxy is cut or closed. The caller holds mu.
func (p *Proxy) add(c *conn) error {
	c.closed, c.cancel = context.WithCancel(context.Background())
	if p.cut || p.closing.Err() != nil {
		c.close()
		return errors.New("the proxy is cut")
	}
	p.conns[c] = struct{}{}
	c.run()
	return nil
}

// Mend ends every fault but a delay and a hold. A connection on which data was dropped is closed, because its stream has a hole.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.drops, p.loss = false, nil, nil
	if p.hung != nil {
		close(p.hung)
		p.hung = nil
	}
	for c := range p.conns {
		if c.dropped {
			c.close()
		}
	}
}

// Close closes the listeners and every connection. It returns when no goroutine of the proxy is left. It may be called again.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.cancel()
	for _, l := range p.listeners {
		_ = l.Close()
	}
	p.closeConnections()
	p.mu.Unlock()
	p.running.Wait()
}
