package faultproxy_test

import (
	"testing"
	"testing/synctest"
	"time"

	"locklab/internal/faultproxy"
)

func TestDelayOfEachDirection(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		p.Delay(faultproxy.Latency(time.Second, 2*time.Second))
		conn := client(t, p)
		send(t, conn, "a")
		time.Sleep(time.Second - 1)
		if synctest.Wait(); !s.got() {
			t.Error("the request was not delayed")
		}
		time.Sleep(time.Nanosecond)
		if synctest.Wait(); !s.got("a") {
			t.Error("the request has the delay of the reply")
		}
		expect(t, conn, "re:a", 2*time.Second)
		p.Delay(nil)
		send(t, conn, "b")
		expect(t, conn, "re:b", 0)
	})
}

// A delay holds each chunk for its time; it does not slow the connection down.
func TestDelaysDoNotAddUp(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, _ *server) {
		p.Delay(faultproxy.Latency(time.Second, 0))
		conn := client(t, p)
		send(t, conn, "a")
		time.Sleep(time.Second / 2)
		send(t, conn, "b")
		expect(t, conn, "re:a", time.Second/2)
		expect(t, conn, "re:b", time.Second/2)
	})
}

func TestDelayedChunksDoNotOvertake(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		p.Delay(func(c faultproxy.Chunk) time.Duration {
			if string(c.Data) == "slow" {
				return time.Second
			}
			return 0
		})
		conn := client(t, p)
		send(t, conn, "slow")
		send(t, conn, "fast")
		expect(t, conn, "re:slow", time.Second)
		expect(t, conn, "re:fast", 1)
		if !s.got("slow", "fast") {
			t.Errorf("the server received %q", s.requests)
		}
	})
}

func TestDelayedRequestArrivesAlthoughItsClientHasClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		p.Delay(faultproxy.Latency(time.Second, 0))
		conn := client(t, p)
		send(t, conn, "a")
		send(t, conn, "b")
		conn.Close()
		time.Sleep(2 * time.Second)
		if synctest.Wait(); !s.got("a", "b") || s.ended != 1 {
			t.Errorf("the server received %q, and %d ends", s.requests, s.ended)
		}
	})
}
