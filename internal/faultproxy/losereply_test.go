package faultproxy_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"locklab/internal/faultproxy"
)

func TestLostReplyWasExecuted(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		conn, other := client(t, p), client(t, p)
		p.LoseReply(nil, nil)
		send(t, conn, "a")
		if data, _, err := receive(conn); !errors.Is(err, io.EOF) {
			t.Errorf("received %q, %v", data, err)
		}
		if !s.got("a") {
			t.Errorf("the server received %q", s.requests)
		}
		send(t, other, "b") // only one is lost
		expect(t, other, "re:b", 0)
	})
}

// Mend cancels a loss that has not happened yet.
func TestAMendedReplyIsNotLost(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, _ *server) {
		conn := client(t, p)
		p.LoseReply(nil, nil)
		p.Mend()
		send(t, conn, "a")
		expect(t, conn, "re:a", 0)
	})
}

// A client that has stopped to wait for a reply may get it after the fault was made. It is not the one that is to be lost.
func TestReplyToAnEarlierRequestIsNotLost(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, _ *server) {
		p.Delay(faultproxy.Latency(time.Second, 0))
		early, late := client(t, p), client(t, p)
		send(t, early, "a")
		synctest.Wait()
		p.LoseReply(nil, nil)
		expect(t, early, "re:a", time.Second)
		send(t, late, "b")
		if data, _, err := receive(late); !errors.Is(err, io.EOF) {
			t.Errorf("received %q, %v", data, err)
		}
	})
}

func TestLostReplyIsChosenAndShown(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, _ *server) {
		conn, other := client(t, p), client(t, p)
		lost := ""
		p.LoseReply(func(c faultproxy.Chunk) bool { return string(c.Data) == "b" }, func(c faultproxy.Chunk) {
			lost = string(c.Data)
			p.Cut()
		})
		send(t, conn, "a")
		expect(t, conn, "re:a", 0)
		send(t, conn, "b")
		for _, conn := range []net.Conn{conn, other} {
			if data, _, err := receive(conn); !errors.Is(err, io.EOF) || lost != "re:b" {
				t.Errorf("received %q, %v; lost %q", data, err, lost)
			}
		}
	})
}

// A client subscribes in its background: the reply to that is not the one to be lost.
func TestReplyToAGreetingIsNotLost(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, _ *server) {
		p.LoseReply(faultproxy.NoGreeting, nil)
		for _, greeting := range []string{
			"*2\r\n$5\r\nHELLO\r\n", "*3\r\n$6\r\nclient\r\n", "*2\r\n$9\r\nsubscribe\r\n", "*2\r\n$10\r\nSSUBSCRIBE\r\n",
		} {
			conn := client(t, p)
			send(t, conn, greeting)
			expect(t, conn, "re:"+greeting, 0)
		}
		conn := client(t, p)
		send(t, conn, "*3\r\n$7\r\nEVALSHA\r\n")
		if data, _, err := receive(conn); !errors.Is(err, io.EOF) {
			t.Errorf("received %q, %v", data, err)
		}
	})
}
