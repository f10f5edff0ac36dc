package zklock

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// wire is one connection. It reads how the server answers the greeting, of which package zk says too little: length, version of
// the protocol, timeout of the session.
//
// A server that has lost its data, or has an older copy of it, refuses a session that has seen more: it closes the connection. Package zk
// would greet with that session for ever. So the wire answers for a server that grants new sessions and refuses this one: the session
// has expired. Then package zk forgets it. Nobody tells the servers, where it may live on until its timeout.
type wire struct {
	net.Conn
	client  *client
	addr    string
	sent    []byte    // the greeting
	greets  []byte    // the first bytes of its answer
	expired io.Reader // the answer in place of the server's; nil: the server's
}

const (
	greeting        = 12   // bytes that are read of its answer
	longestGreeting = 1024 // another server's first bytes are a larger number

	// refusal is for how long servers must have refused a session before it is forgotten. One server may be behind another for some time.
	refusal = time.Second
)

var (
	errNoZooKeeper = errors.New("the server speaks another protocol: it is no ZooKeeper")
	errNoGreeting  = errors.New("the server does not answer the greeting: it hangs, or is no ZooKeeper")
	errRefused     = errors.New("the server closed the connection without an answer: " +
		"perhaps it has no quorum, or accepts no more connections from this address (maxClientCnxns)")
	errSessionRefused = fmt.Errorf("%w, or it has lost data that this session has seen", errRefused)
)

// hangUp closes the connection. Package zk connects again.
func (w *wire) hangUp() {
	if w != nil {
		_ = w.Close()
	}
}

// Write hangs up when it fails, and the reader learns that. When a greeting fails, the reader learns how the server has closed. Package zk
// has room for two answers to a request: with an error it would give three when it is closed meanwhile (closed, not written,
// disconnected), and wait forever (go-zookeeper/zk#163 is of the kind).
func (w *wire) Write(p []byte) (int, error) {
	if w.sent == nil {
		w.sent = bytes.Clone(p)
	}
	if _, err := w.Conn.Write(p); err != nil && len(w.greets) == greeting {
		w.hangUp()
	}
	return len(p), nil
}

// SetReadDeadline bounds the wait for the greeting: package zk would wait for longer than the session lasts.
func (w *wire) SetReadDeadline(t time.Time) error {
	if len(w.greets) < greeting {
		t = time.Now().Add(min(w.client.greetingTimeout, w.client.cfg.Request))
	}
	return w.Conn.SetReadDeadline(t)
}

func (w *wire) Read(p []byte) (int, error) {
	if w.expired != nil {
		return w.expired.Read(p)
	}
	n, err := w.Conn.Read(p)
	missing := greeting - len(w.greets)
	if missing == 0 {
		return n, err
	}
	w.greets = append(w.greets, p[:min(n, missing)]...)
	if len(w.greets) == 0 && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		return w.refused(p)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.client.greetingTimeout = min(2*w.client.greetingTimeout, w.client.cfg.Request)
		return n, errNoGreeting
	}
	if len(w.greets) >= 4 && binary.BigEndian.Uint32(w.greets) > longestGreeting {
		return 0, errNoZooKeeper
	}
	if len(w.greets) == greeting {
		w.client.greeted(time.Duration(binary.BigEndian.Uint32(w.greets[8:])) * time.Millisecond)
	}
	return n, err
}

// refused decides what a greeting means that the server has not answered. It forgets the session if this server has granted a new one
// meanwhile: then it has a quorum and room for connections.
func (w *wire) refused(p []byte) (int, error) {
	c := w.client
	switch {
	case !hasSession(w.sent):
		return 0, errRefused
	case c.refused.IsZero():
		c.refused = time.Now()
	case time.Since(c.refused) < refusal:
	case slices.Contains(c.grants, w.addr):
		answer := make([]byte, 24) // an empty password, and 0 for all but the length
		answer[3] = byte(len(answer) - 4)
		w.expired = bytes.NewReader(answer)
		c.greeted(0)
		return w.expired.Read(p)
	case w.grantsAnother():
		c.grants = append(c.grants, w.addr)
	}
	return 0, errSessionRefused
}

// A greeting, behind its length: version, last transaction (8 bytes), timeout, session (8 bytes), password.
const transactionAt, sessionAt, passwordAt = 8, 20, 28

func hasSession(greeting []byte) bool {
	return len(greeting) >= passwordAt && binary.BigEndian.Uint64(greeting[sessionAt:]) != 0
}

// grantsAnother asks the server for a session of its shortest timeout, which nobody uses.
func (w *wire) grantsAnother() bool {
	ctx, cancel := context.WithTimeout(w.client.life, w.client.cfg.Request)
	defer cancel()
	conn, err := w.client.cfg.Dial(ctx, "tcp", w.addr)
	if err != nil {
		return false
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	fresh := bytes.Clone(w.sent)
	clear(fresh[transactionAt:passwordAt])
	if _, err := conn.Write(fresh); err != nil {
		return false
	}
	_, err = io.ReadFull(conn, make([]byte, greeting))
	return err == nil
}

// greeted keeps the timeout of the session, and for how long to wait next time: a slow server is not asked twice. 0: the session that was
// asked for has expired.
func (c *client) greeted(timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused, c.grants = time.Time{}, nil
	c.greetingTimeout = max(firstGreeting, 2*time.Since(c.dialed))
	if timeout > 0 {
		c.timeout = timeout
	}
}
