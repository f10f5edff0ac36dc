package topology

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// dialer opens connections, as the Dialer of go-redis.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// tellsWhy makes dial's connections tell why Redis refused them. A Redis that has too many clients, or is in protected mode, sends one line
// with the reason and closes the connection. go-redis takes that line for the reply to its greeting, goes on, and sees a broken pipe.
func tellsWhy(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if tcp, is := conn.(*net.TCPConn); is { // go-redis looks at the socket before it uses an idle connection
			return &refusable{TCPConn: tcp}, err
		}
		return conn, err
	}
}

// refusable is a connection that Redis may refuse. Its first reply is the reason if it is an error and the connection ends without another
// one. A command is sent only after a second reply: the greeting of go-redis has two.
type refusable struct {
	*net.TCPConn

	mu      sync.Mutex // a Pub/Sub connection reads and writes simultaneously
	replied bool
	first   []byte // the only reply so far, if it is an error
}

// Read reads, and adds the reason to the end of a connection that was refused.
func (c *refusable) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.received(b[:n])
	return n, c.explained(err)
}

// lastWords bounds the wait for a reason that has already arrived.
const lastWords = 100 * time.Millisecond

// Write writes. When it fails before the first reply, the reason may still be in the socket.
func (c *refusable) Write(b []byte) (int, error) {
	n, err := c.TCPConn.Write(b)
	if hasEnded(err) && c.received(nil) {
		left := make([]byte, 4096)
		_ = c.SetReadDeadline(time.Now().Add(lastWords))
		n, _ := c.TCPConn.Read(left)
		c.received(left[:n])
	}
	return n, c.explained(err)
}

// received notes what was received. It reports whether there is no reply yet.
func (c *refusable) received(b []byte) (silent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(b) == 0 {
		return !c.replied
	}
	if c.first = nil; !c.replied && b[0] == '-' {
		c.first = bytes.Clone(b)
	}
	c.replied = true
	return false
}

// explained is the error of a connection, with the server's reason if it was refused.
func (c *refusable) explained(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !hasEnded(err) || c.first == nil {
		return err
	}
	line, _, _ := bytes.Cut(c.first[1:], []byte("\r\n"))
	reason := errors.New("the server refused the connection: " + string(line))
	return refusal{&net.OpError{Op: "dial", Net: "tcp", Addr: c.RemoteAddr(), Err: reason}}
}

// hasEnded reports whether err says that the server has ended a connection.
func hasEnded(err error) bool {
	var network net.Error
	return err != nil && !errors.Is(err, net.ErrClosed) && !(errors.As(err, &network) && network.Timeout())
}

// refusal is an error of the dial, because no command was sent. go-redis unwraps the error of a greeting once: it finds the same error.
type refusal struct{ *net.OpError }

func (r refusal) Unwrap() error { return r.OpError }
