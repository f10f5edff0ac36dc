package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"sync"
	"time"
)

// beginning is how much of a message is the same in each run of a program: the command and the name of its script,
// which is its hash. So a seed means another run when a script has changed.
const beginning = 48

// link is a process's network: connections to the server over which messages take their time.
//
// Only scripts and their answers do, and messages of subscriptions. go-redis waits for the answers to a greeting with
// a mutex locked, and in a bubble no time passes while somebody waits for a mutex.
type link struct {
	server  func() (net.Conn, error)
	seed    string
	running sync.WaitGroup

	mu    sync.Mutex
	wires map[*wire]struct{}
	until time.Time     // it is cut so long
	lose  bool          // the next answer to a script is lost, and its connection
	slow  time.Duration // so much later come the answers to scripts,
	late  time.Duration // or the scripts themselves, though their sender gives up and hangs up
	worse time.Time     // so long
	calm  bool          // nothing takes time
}

func newLink(server func() (net.Conn, error), seed uint64, process int) *link {
	return &link{server: server, seed: fmt.Sprint(seed, "/", process), wires: make(map[*wire]struct{})}
}

// wire is a connection.
type wire struct {
	link      *link
	near, far net.Conn
	works     bool // it has said more than greetings; of link.mu
}

// way is one direction. Whoever sends never waits, because miniredis sends while it is locked.
type way struct {
	wire    *wire
	from    net.Conn
	to      net.Conn
	request bool
	last    time.Time // when what was sent last arrives; of link.mu
	queue   chan parcel
}

type parcel struct {
	data []byte
	at   time.Time
}

func (l *link) dial(context.Context, string, string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: errors.New("the link is cut")}
	}
	far, err := l.server()
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: err}
	}
	outer, near := net.Pipe()
	w := &wire{link: l, near: near, far: far}
	l.wires[w] = struct{}{}
	w.open(near, far, true)
	w.open(far, near, false)
	return outer, nil
}

func (w *wire) open(from, to net.Conn, request bool) {
	y := &way{wire: w, from: from, to: to, request: request, queue: make(chan parcel, 4096)}
	w.link.running.Go(y.take)
	w.link.running.Go(y.bring)
}

// take reads what is sent. When its sender hangs up, what is under way still arrives.
func (y *way) take() {
	defer close(y.queue)
	for buffer := make([]byte, 16<<10); ; {
		n, err := y.from.Read(buffer)
		if err != nil {
			return
		}
		if p, arrives := y.send(bytes.Clone(buffer[:n])); arrives {
			y.queue <- p
		}
	}
}

// send decides when data arrives, and whether.
func (y *way) send(data []byte) (parcel, bool) {
	l, now := y.wire.link, time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	script := bytes.Contains(bytes.ToLower(data[:min(len(data), beginning)]), []byte("eval"))
	y.wire.works = y.wire.works || script || y.request && bytes.Contains(data, []byte("subscribe"))
	if !y.wire.works || l.calm {
		return parcel{data, now}, true
	}
	at := now.Add(50*time.Microsecond + y.delay(now, data))
	if now.Before(l.worse) {
		if y.request && script {
			at = at.Add(l.late)
		} else if !y.request {
			at = at.Add(l.slow)
		}
	}
	if !y.request && l.lose {
		l.lose = false
		y.wire.hangUpLocked()
		return parcel{}, false
	}
	if at.Before(y.last) {
		at = y.last.Add(1)
	}
	y.last = at
	return parcel{data, at}, true
}

// delay follows from what is sent, and when, and by whom: not from the connection, for which the scheduler
// decides, nor from what stands behind a message's beginning, such as the random names of processes.
func (y *way) delay(now time.Time, data []byte) time.Duration {
	hash := fnv.New64a()
	_, _ = fmt.Fprint(hash, y.wire.link.seed, y.request, now.UnixNano(), len(data), " ")
	_, _ = hash.Write(data[:min(len(data), beginning)])
	return time.Duration(hash.Sum64() % uint64(time.Millisecond))
}

// bring delivers, to whoever still listens. It hangs up when its sender has.
func (y *way) bring() {
	defer y.to.Close()
	for p := range y.queue {
		time.Sleep(time.Until(p.at))
		_, _ = y.to.Write(p.data)
	}
}

func (w *wire) hangUpLocked() {
	delete(w.link.wires, w)
	w.near.Close()
	w.far.Close()
}

// cut breaks all connections, and makes no new ones for d.
func (l *link) cut(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Now().Add(d)
	for w := range l.wires {
		w.hangUpLocked()
	}
}

// spoil sets what goes wrong with messages: one answer is lost, or for a while they come later.
func (l *link) spoil(lose bool, slow, late time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose, l.slow, l.late = l.lose || lose, slow, late
	l.worse = time.Now().Add(max(slow, late))
}

// mend ends all trouble, and in the end all delay.
func (l *link) mend(calm bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until, l.lose, l.worse, l.calm = time.Time{}, false, time.Time{}, calm
}

// close breaks all connections, and waits until what is under way has gone astray.
func (l *link) close() {
	l.cut(endless)
	l.running.Wait()
}
