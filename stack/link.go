package stack

import (
	"errors"
	"fmt"
	"net"
	"sync"
)

// Direction is where bytes go on a [Proxy].
type Direction uint8

// The directions of a link.
const (
	ToServer Direction = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// Proxy is a line to a server: who dials its address reaches the server, until it is cut. Then bytes get lost without a word,
// as on a network: nobody is told, connections stay open, and new ones lead nowhere, also when only one direction is
// cut, because a connection cannot begin without an answer.
//
// What is NOT guaranteed: that a server that has ended refuses connections, as it does without a link: they are
// taken, and closed at once.
type Proxy struct {
	Name string
	Addr string // host:port, for the clients

	listener net.Listener
	running  sync.WaitGroup

	passing sync.RWMutex // held to read by who passes bytes on: when Cut has it, none are on their way

	mu       sync.Mutex
	to       string // the server; empty: there is none yet
	cut      Direction
	replicas map[string]bool // by the port that they name: cut in both directions; a port of "" is all
	lines    map[*line]bool
	dropped  Dropped
	stopped  bool
}

// Dropped is what a link has swallowed since it was made.
type Dropped struct {
	Bytes       int64
	Connections int // that led nowhere
}

// Proxy makes a line to the server at an address. Without one it leads nowhere until [Proxy.Lead].
func (s *Stack) Proxy(name, to string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("stack: link %s: %w", name, err)
	}
	l := &Proxy{Name: name, Addr: listener.Addr().String(), listener: listener, to: to, lines: make(map[*line]bool)}
	l.running.Go(l.accept)
	s.add(l)
	return l, nil
}

// Lead lets new connections lead to the server at addr.
func (l *Proxy) Lead(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = addr
}

// Drop cuts the link for everybody. When it returns nothing more gets through.
func (l *Proxy) Drop(d Direction) {
	l.passing.Lock()
	defer l.passing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut |= d
}

// DropReplicas cuts the link for the replicas among its clients, or for those given only. A replica that dials again
// does not get through either.
func (l *Proxy) DropReplicas(nodes ...*Node) {
	l.passing.Lock()
	defer l.passing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replicas = make(map[string]bool)
	for _, n := range nodes {
		for _, addr := range []string{n.Addr, n.AnnouncedAddr()} {
			l.replicas[fmt.Sprint(portOf(addr))] = true
		}
	}
	if len(nodes) == 0 {
		l.replicas[""] = true
	}
}

// Mend makes the link whole again. Connections that have lost something end: what was lost does not come back.
func (l *Proxy) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.replicas = 0, nil
	for one := range l.lines {
		if one.damaged != 0 {
			one.close()
		}
	}
}

// Dropped is what was swallowed so far.
func (l *Proxy) Dropped() Dropped {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// Stop ends the link and every connection.
func (l *Proxy) Stop() error {
	l.mu.Lock()
	l.stopped = true
	for one := range l.lines {
		one.close()
	}
	l.mu.Unlock()
	err := l.listener.Close()
	l.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (l *Proxy) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.running.Go(func() { l.serve(client) })
	}
}

// serve passes bytes on between a client and the server until one of them ends.
func (l *Proxy) serve(client net.Conn) {
	one := &line{client: client}
	to, ok := l.begin(one)
	defer l.end(one)
	if !ok {
		return
	}
	if to != "" {
		server, err := net.Dial("tcp", to)
		if err != nil || !l.joined(one, server) {
			return
		}
		l.running.Go(func() { l.pump(one, ToClient, server, client) })
	}
	l.pump(one, ToServer, client, one.server)
}

// begin says where a new connection leads: nowhere ("") while the link is cut.
func (l *Proxy) begin(one *line) (to string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines[one] = true
	if l.cut != 0 {
		one.damaged = Both
		l.dropped.Connections++
		return "", !l.stopped
	}
	return l.to, !l.stopped && l.to != ""
}

func (l *Proxy) joined(one *line, server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one.server = server
	return !l.stopped
}

func (l *Proxy) end(one *line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.lines, one)
	one.close()
}
