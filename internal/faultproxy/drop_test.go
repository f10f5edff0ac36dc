package faultproxy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/internal/faultproxy"
)

// The direction decides whether the server executes a request, and whether its client gets the reply.
func TestDropIsSilent(t *testing.T) {
	for _, c := range []struct {
		name             string
		direction        faultproxy.Direction
		executed, answer bool
	}{
		{"none", 0, true, true},
		{"to the server", faultproxy.ToServer, false, false},
		{"to the client", faultproxy.ToClient, true, false},
		{"both", faultproxy.Both, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
				conn := client(t, p)
				p.Drop(c.direction)
				send(t, conn, "a")
				if _, after, err := receive(conn); (err == nil) != c.answer || !c.answer && after != silence {
					t.Errorf("the client received %v after %s", err, after)
				}
				if s.got("a") != c.executed {
					t.Errorf("the server received %q", s.requests)
				}
				oneWay := c.direction == faultproxy.ToClient
				if got := p.Dropped(); got.Bytes > 0 == c.answer || got.Passed > 0 != oneWay {
					t.Errorf("dropped: %+v", got)
				}
			})
		})
	}
}

func TestDroppedConnectionLeadsNowhereUntilMend(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		p.Drop(faultproxy.ToClient)
		conn := client(t, p)
		send(t, conn, "a")
		if _, after, _ := receive(conn); after != silence || !s.got() {
			t.Errorf("received after %s; the server received %q", after, s.requests)
		}
		if got := p.Dropped(); got != (faultproxy.Dropped{Bytes: 1, Connections: 1}) {
			t.Errorf("dropped: %+v", got)
		}
		p.Mend()
		if _, _, err := receive(conn); !errors.Is(err, io.EOF) {
			t.Errorf("a connection with a hole in its stream goes on: %v", err)
		}
	})
}

// A write that has begun is over before Drop or Hang returns. It ends at the latest when its timeout does.
func TestFaultsWaitForWritesThatHaveBegun(t *testing.T) {
	for name, fault := range map[string]func(*faultproxy.Proxy){
		"drop": func(p *faultproxy.Proxy) { p.Drop(0) }, "hang": func(p *faultproxy.Proxy) { p.Hang() },
	} {
		t.Run(name, func(t *testing.T) { waitsForWrites(t, fault) })
	}
}

func waitsForWrites(t *testing.T, fault func(*faultproxy.Proxy)) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe() // nobody reads from it yet
		p := faultproxy.New(func(context.Context) (net.Conn, error) { return near, nil })
		defer p.Close()
		conn := client(t, p)
		for _, c := range []struct {
			reads       bool
			returnAfter time.Duration
		}{{true, time.Second}, {false, 10 * time.Second}} {
			send(t, conn, "a")
			synctest.Wait()
			if c.reads {
				time.AfterFunc(time.Second, func() { _, _ = far.Read(make([]byte, 1)) })
			}
			began := time.Now()
			fault(p)
			if took := time.Since(began); took != c.returnAfter {
				t.Errorf("%+v: it returned after %s", c, took)
			}
			p.Mend()
		}
		if _, _, err := receive(conn); !errors.Is(err, io.EOF) {
			t.Errorf("after the timeout the client received %v", err)
		}
	})
}

func TestDropMatchingChoosesByLabel(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		p.Label = func(label string, request []byte) string {
			if label == "" {
				label, _ = strings.CutPrefix(string(request), "I am ")
			}
			return label
		}
		bad := client(t, p)
		p.DropMatching(faultproxy.Both, func(label string) bool { return label == "bad" })
		good := client(t, p) // without a label it is passed on
		send(t, good, "I am good")
		expect(t, good, "re:I am good", 0)
		send(t, bad, "I am bad")
		if _, after, _ := receive(bad); after != silence || !s.got("I am good") {
			t.Errorf("received after %s; the server received %q", after, s.requests)
		}
	})
}

// A connection that a router has forgotten carries nothing more, and its two ends are not told. A new one carries everything.
func TestForgottenConnections(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		old := client(t, p)
		if n := p.DropExisting(); n != 1 {
			t.Errorf("%d connections", n)
		}
		send(t, old, "a")
		if data, after, err := receive(old); errors.Is(err, io.EOF) || after != silence {
			t.Errorf("received %q after %s (%v)", data, after, err)
		}
		newer := client(t, p)
		send(t, newer, "b")
		expect(t, newer, "re:b", 0)
		if !s.got("b") {
			t.Errorf("the server received %q", s.requests)
		}
	})
}
