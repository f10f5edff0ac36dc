package faultproxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"locklab/stack/faultproxy"
)

// server answers each request with "re:" and the request.
type server struct {
	mu       sync.Mutex
	requests []string
	ended    int // connections that the other side has closed
}

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	buffer := make([]byte, 1024)
	for {
		n, err := conn.Read(buffer)
		if err == nil {
			s.mu.Lock()
			s.requests = append(s.requests, string(buffer[:n]))
			s.mu.Unlock()
			_, err = fmt.Fprint(conn, "re:", string(buffer[:n]))
		}
		if err != nil {
			s.mu.Lock()
			s.ended++
			s.mu.Unlock()
			return
		}
	}
}

func (s *server) got(requests ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Equal(s.requests, requests)
}

// inBubble runs test with a proxy in memory, where time passes only when everything waits.
func inBubble(t *testing.T, test func(t *testing.T, p *faultproxy.Proxy, s *server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		p := faultproxy.New(s.dial)
		defer p.Close()
		test(t, p, s)
	})
}

// client is a connection over the proxy that ends with the test.
func client(t *testing.T, p *faultproxy.Proxy) net.Conn {
	t.Helper()
	conn, err := p.DialContext(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func send(t *testing.T, conn net.Conn, request string) {
	t.Helper()
	if _, err := fmt.Fprint(conn, request); err != nil {
		t.Fatal(err)
	}
}

// silence is longer than everything that a test waits for.
const silence = time.Hour

// receive returns what arrives next and after what time, or the error.
func receive(conn net.Conn) (data string, after time.Duration, err error) {
	_ = conn.SetReadDeadline(time.Now().Add(silence))
	buffer, began := make([]byte, 1024), time.Now()
	n, err := conn.Read(buffer)
	return string(buffer[:n]), time.Since(began), err
}

func expect(t *testing.T, conn net.Conn, reply string, after time.Duration) {
	t.Helper()
	if got, took, err := receive(conn); err != nil || got != reply || took != after {
		t.Errorf("received %q after %s (%v), want %q after %s", got, took, err, reply, after)
	}
}

func TestWithoutFaultEverythingPasses(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		conn := client(t, p)
		for _, request := range []string{"a", strings.Repeat("b", 1000)} {
			send(t, conn, request)
			expect(t, conn, "re:"+request, 0)
		}
		conn.Close()
		synctest.Wait()
		if s.ended != 1 {
			t.Error("the server was not told that the client has closed")
		}
	})
}

func TestCutTellsBothSides(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		conn := client(t, p)
		p.Cut()
		if _, _, err := receive(conn); !errors.Is(err, io.EOF) {
			t.Errorf("the client received %v", err)
		}
		synctest.Wait()
		if s.ended != 1 {
			t.Error("the server was not told")
		}
		_, err := p.DialContext(t.Context(), "", "")
		if refused := new(net.OpError); !errors.As(err, &refused) || refused.Op != "dial" {
			t.Errorf("a new connection: %v", err)
		}
		p.Mend()
		conn = client(t, p)
		send(t, conn, "a")
		expect(t, conn, "re:a", 0)
	})
}

func TestResetPassesNewConnections(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, _ *server) {
		before := client(t, p)
		p.Reset()
		if _, _, err := receive(before); !errors.Is(err, io.EOF) {
			t.Errorf("the client received %v", err)
		}
		conn := client(t, p)
		send(t, conn, "a")
		expect(t, conn, "re:a", 0)
	})
}

// What a server does and what its client sees differ with the direction.
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
				if got := p.Dropped().Bytes > 0; got == c.answer {
					t.Errorf("dropped: %+v", p.Dropped())
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

func TestDropLosesTheEndOfAConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		conn := client(t, p)
		p.Drop(faultproxy.ToServer)
		conn.Close()
		synctest.Wait()
		if s.ended != 0 {
			t.Error("the server was told that the client has closed")
		}
		p.Mend()
		synctest.Wait()
		if s.ended != 1 {
			t.Error("the server still has the connection")
		}
	})
}

// A write that has begun is over before Drop returns. It ends at the latest when its timeout does.
func TestDropWaitsForWritesThatHaveBegun(t *testing.T) {
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
			p.Drop(0)
			if took := time.Since(began); took != c.returnAfter {
				t.Errorf("%+v: Drop returned after %s", c, took)
			}
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
		bad, good := client(t, p), client(t, p)
		p.DropMatching(faultproxy.Both, func(label string) bool { return label == "bad" })
		send(t, good, "I am good")
		expect(t, good, "re:I am good", 0)
		send(t, bad, "I am bad")
		if _, after, _ := receive(bad); after != silence || !s.got("I am good") {
			t.Errorf("received after %s; the server received %q", after, s.requests)
		}
	})
}

func TestHangDeliversLater(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		conn := client(t, p)
		p.Hang()
		send(t, conn, "a")
		time.Sleep(time.Minute)
		if !s.got() {
			t.Errorf("the server received %q", s.requests)
		}
		time.AfterFunc(time.Second, p.Mend)
		expect(t, conn, "re:a", time.Second)
	})
}

func TestHangHoldsTheEndOfAConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		conn := client(t, p)
		p.Hang()
		conn.Close()
		synctest.Wait()
		if s.ended != 0 {
			t.Error("the server was told that the client has closed")
		}
		p.Mend()
		synctest.Wait()
		if s.ended != 1 {
			t.Error("the server still has the connection")
		}
	})
}

func TestDelayOfEachDirection(t *testing.T) {
	inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
		p.Delay(faultproxy.Latency(time.Second, 2*time.Second))
		conn := client(t, p)
		send(t, conn, "a")
		time.Sleep(time.Second - 1)
		if synctest.Wait(); !s.got() {
			t.Error("the request was not delayed")
		}
		expect(t, conn, "re:a", 2*time.Second+1)
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

// Close needs no time, whatever is under way.
func TestCloseEndsEveryFault(t *testing.T) {
	for name, fault := range map[string]func(*faultproxy.Proxy){
		"none":  func(*faultproxy.Proxy) {},
		"cut":   (*faultproxy.Proxy).Cut,
		"drop":  func(p *faultproxy.Proxy) { p.Drop(faultproxy.Both) },
		"hang":  (*faultproxy.Proxy).Hang,
		"delay": func(p *faultproxy.Proxy) { p.Delay(faultproxy.Latency(silence, silence)) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
				conn := client(t, p)
				fault(p)
				_, _ = fmt.Fprint(conn, "a")
				synctest.Wait()
				began := time.Now()
				p.Close()
				if synctest.Wait(); time.Since(began) > 0 || s.ended != 1 {
					t.Errorf("closed after %s, the server saw %d ends", time.Since(began), s.ended)
				}
				if _, err := p.DialContext(t.Context(), "", ""); err == nil {
					t.Error("a closed proxy takes connections")
				}
			})
		})
	}
}
