package faultproxy_test

import (
	"testing"
	"testing/synctest"

	"locklab/internal/faultproxy"
)

func requestOf(text string) func(faultproxy.Chunk) bool {
	return func(c faultproxy.Chunk) bool { return c.Direction == faultproxy.ToServer && string(c.Data) == text }
}

// A request that is kept back arrives when it passes, and so does what follows it, although the client has closed its connection by then.
func TestAHeldRequestArrivesLate(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		conn, other := client(t, p), client(t, p)
		held, pass := p.Hold(requestOf("b"))
		send(t, conn, "a")
		expect(t, conn, "re:a", 0)
		send(t, conn, "b")
		<-held
		send(t, conn, "c")
		send(t, other, "d")
		expect(t, other, "re:d", 0)
		conn.Close()
		synctest.Wait()
		if !s.got("a", "d") {
			t.Errorf("the server has received %q", s.requests)
		}
		pass()
		synctest.Wait()
		if !s.got("a", "d", "b", "c") {
			t.Errorf("the server has received %q", s.requests)
		}
	})
}

// The reply to the chosen request is kept back until it passes, and no reply on another connection is.
func TestAHeldReplyArrivesLate(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		conn, other := client(t, p), client(t, p)
		held, pass := p.HoldReply(requestOf("b"))
		send(t, conn, "a")
		expect(t, conn, "re:a", 0)
		send(t, conn, "b")
		<-held
		send(t, other, "b")
		expect(t, other, "re:b", 0)
		if _, after, err := receive(conn); err == nil || after != silence {
			t.Errorf("received something after %s: %v", after, err)
		}
		pass()
		expect(t, conn, "re:b", 0)
		send(t, conn, "c")
		expect(t, conn, "re:c", 0)
	})
}

// The end of a proxy does not wait for what it keeps back.
func TestAProxyClosesDuringAHold(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, _ *server) {
		conn := client(t, p)
		held, _ := p.Hold(requestOf("a"))
		send(t, conn, "a")
		<-held
	})
}
