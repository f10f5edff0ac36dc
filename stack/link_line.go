package stack

import (
	"net"
	"regexp"
	"time"
)

// stuck is how long a receiver may take nothing before its connection ends: it is full, and nobody may wait for it for ever.
const stuck = 10 * time.Second

// line is one connection over a [Proxy].
type line struct {
	client, server net.Conn
	replica        string    // the port that it names as its own: it is a replica; empty: it is none
	damaged        Direction // something of it was swallowed, and so is all that follows: a stream with a hole in it is another fault
}

func (o *line) close() {
	_ = o.client.Close()
	if o.server != nil {
		_ = o.server.Close()
	}
}

// handshake is how a replica introduces itself: by the port at which it listens.
var handshake = regexp.MustCompile(`listening-port\r\n\$\d+\r\n(\d+)\r\n`)

// pump passes on what from says, and its end, unless they get lost. Without a server everything does.
func (l *Proxy) pump(one *line, d Direction, from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !l.pass(one, d, to, buffer[:n]) {
			err = net.ErrClosed
		}
		if err != nil {
			l.over(one, d)
			return
		}
	}
}

// pass reports false when the connection is over.
func (l *Proxy) pass(one *line, d Direction, to net.Conn, data []byte) bool {
	l.passing.RLock()
	defer l.passing.RUnlock()
	if l.swallows(one, d, data) {
		return true
	}
	_ = to.SetWriteDeadline(time.Now().Add(stuck))
	_, err := to.Write(data)
	return err == nil
}

func (l *Proxy) swallows(one *line, d Direction, data []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d == ToServer && one.replica == "" {
		if found := handshake.FindSubmatch(data); found != nil {
			one.replica = string(found[1])
		}
	}
	if !l.cutFor(one, d) {
		return false
	}
	one.damaged |= d
	l.dropped.Bytes += int64(len(data))
	return true
}

// cutFor reports whether what a connection says in a direction gets lost.
func (l *Proxy) cutFor(one *line, d Direction) bool {
	return (l.cut|one.damaged)&d != 0 || one.server == nil || one.replica != "" && (l.replicas[""] || l.replicas[one.replica])
}

// over ends a connection when one side has ended, unless it is the client who cannot be told of it.
func (l *Proxy) over(one *line, d Direction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d == ToClient && !l.stopped && l.cutFor(one, d) {
		one.damaged |= d
		return
	}
	one.close()
}
