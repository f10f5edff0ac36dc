package topology

import (
	"context"
	"errors"
	"net"
	"testing"
)

// to is an open connection to an address.
type to struct {
	net.Conn
	addr   string
	closed bool
}

func (c *to) RemoteAddr() net.Addr { addr, _ := net.ResolveTCPAddr("tcp", c.addr); return addr }
func (c *to) Close() error         { c.closed = true; return nil }

// A connection to another master closes those to the one before, and no others. A dial that ends late does not bring the old one back.
func TestOneMasterAtATime(t *testing.T) {
	m := &oneMaster{open: make(map[*current]bool)}
	const before, after = "127.0.0.1:1", "127.0.0.1:2"
	begin := func(addr string) (end func() (*to, net.Conn, error)) {
		c, ended := &to{addr: addr}, make(chan struct{})
		began := make(chan struct{})
		result := make(chan error, 1)
		var conn net.Conn
		go func() {
			var err error
			conn, err = m.DialHook(func(context.Context, string, string) (net.Conn, error) {
				close(began)
				<-ended
				return c, nil
			})(t.Context(), "tcp", "FailoverClient")
			result <- err
		}()
		<-began
		return func() (*to, net.Conn, error) {
			close(ended)
			err := <-result
			return c, conn, err
		}
	}
	dial := func(addr string) (*to, net.Conn) {
		c, conn, err := begin(addr)()
		if err != nil {
			t.Fatal(err)
		}
		return c, conn
	}
	first, _ := dial(before)
	second, ofSecond := dial(before)
	if first.closed {
		t.Error("a connection was closed by another one to the same master")
	}
	if err := ofSecond.Close(); err != nil || !second.closed || len(m.open) != 1 {
		t.Errorf("one of two connections was closed: %v, %v, and %d are open", err, second.closed, len(m.open))
	}
	late := begin(before)
	third, _ := dial(after)
	if !first.closed || third.closed || len(m.open) != 1 {
		t.Errorf("closed: old %v, new %v; %d are open", first.closed, third.closed, len(m.open))
	}
	c, _, err := late()
	if !errors.Is(err, errOldMaster) || !c.closed || third.closed {
		t.Errorf("a dial that ended late: %v; closed: it %v, the new one %v", err, c.closed, third.closed)
	}
}
