package locktest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// Wire is what lies between a client and its servers. It passes connections on, until a fault is made. The
// zero value is a wire without faults.
type Wire struct {
	mu          sync.Mutex
	there, back time.Duration // how much later a request and an answer arrive
	hung        chan struct{} // nothing passes until it is closed; nil: it passes
	legs        []*leg
}

// leg is the part of a wire that leads to one server.
type leg struct {
	wire  *Wire
	addr  string
	cut   bool                            // connections end as soon as they begin
	lose  bool                            // the next answer is lost, and the leg cut
	links map[net.Conn]context.CancelFunc // those that are up; a call ends one
}

// Cut ends all connections, and new ones as soon as they begin.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.legs {
		l.cutLocked()
	}
}

func (l *leg) cutLocked() {
	l.cut = true
	for _, end := range l.links {
		end()
	}
}

// LoseNextAnswer passes requests on until one is answered. The answer is lost, and the way to that server cut.
// What a subscription says (RESP3's push) is no answer.
func (w *Wire) LoseNextAnswer() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.legs {
		l.lose = true
	}
}

// Delay makes requests and answers so much later.
func (w *Wire) Delay(there, back time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.there, w.back = there, back
}

// Hang stops the traffic in both directions, and leaves the connections up. What was sent arrives later.
func (w *Wire) Hang() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hung == nil {
		w.hung = make(chan struct{})
	}
}

// Mend ends every cut and hang.
func (w *Wire) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.legs {
		l.cut, l.lose = false, false
	}
	if w.hung != nil {
		close(w.hung)
		w.hung = nil
	}
}

// To leads to the server at addr, until the test ends. It returns the address of the near end. A wire
// may lead to several servers: a fault is one of all of them.
func (w *Wire) To(t testing.TB, addr string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &leg{wire: w, addr: addr, links: make(map[net.Conn]context.CancelFunc)}
	w.mu.Lock()
	w.legs = append(w.legs, l)
	w.mu.Unlock()
	var running sync.WaitGroup
	t.Cleanup(func() {
		listener.Close()
		w.Cut()
		running.Wait()
	})
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { l.link(near) })
		}
	})
	return listener.Addr().String()
}

// link passes on what two ends say, until one of them ends or the wire is cut.
func (l *leg) link(near net.Conn) {
	defer near.Close()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	if !l.up(near, end) {
		return
	}
	defer l.down(near)
	far, err := new(net.Dialer).DialContext(ctx, "tcp", l.addr)
	if err != nil {
		return
	}
	defer far.Close()
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() { defer end(); l.pass(ctx, far, near, false) })
	both.Go(func() { defer end(); l.pass(ctx, near, far, true) })
	<-ctx.Done()
	near.Close()
	far.Close()
}

func (l *leg) up(near net.Conn, end context.CancelFunc) bool {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	if !l.cut {
		l.links[near] = end
	}
	return !l.cut
}

func (l *leg) down(near net.Conn) {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	delete(l.links, near)
}

// pass passes on one direction.
func (l *leg) pass(ctx context.Context, to, from net.Conn, answers bool) {
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !l.arrive(ctx, answers, buffer[0] == '>') {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// arrive returns when what was said may be heard, or false: it is lost.
func (l *leg) arrive(ctx context.Context, answer, push bool) bool {
	w := l.wire
	w.mu.Lock()
	late, hung := w.there, w.hung
	if answer {
		late = w.back
		if l.lose && !push {
			l.lose = false
			l.cutLocked()
		}
	}
	w.mu.Unlock()
	if late > 0 {
		timer := time.NewTimer(late)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if hung != nil {
		select {
		case <-hung:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
