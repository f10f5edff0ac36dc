package faultproxy_test

import (
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

	"locklab/internal/faultproxy"
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

func TestTheServerLearnsOfTheEndOfAConnectionAtMend(t *testing.T) {
	for name, fault := range map[string]func(*faultproxy.Proxy){
		"hang": (*faultproxy.Proxy).Hang,
		"drop": func(p *faultproxy.Proxy) { p.Drop(faultproxy.ToServer) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, p *faultproxy.Proxy, s *server) {
				conn := client(t, p)
				fault(p)
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
		})
	}
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
