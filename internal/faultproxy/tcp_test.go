package faultproxy_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"locklab/internal/faultproxy"
)

func (s *server) dial(context.Context) (net.Conn, error) {
	client, served := net.Pipe()
	go s.serve(served)
	return client, nil
}

// overTCP starts a server and a proxy that listen on TCP.
func overTCP(t *testing.T) (p *faultproxy.Proxy, s *server, addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	s = new(server)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	p = faultproxy.New(faultproxy.TCP(listener.Addr().String()))
	t.Cleanup(p.Close)
	if addr, err = p.Listen(); err != nil {
		t.Fatal(err)
	}
	return p, s, addr
}

func TestFaultsOverTCP(t *testing.T) {
	p, s, addr := overTCP(t)
	conn := dial(t, addr)
	send(t, conn, "a")
	if got, _, err := receive(conn); got != "re:a" {
		t.Fatalf("received %q, %v", got, err)
	}
	p.Delay(faultproxy.Latency(5*time.Millisecond, 5*time.Millisecond))
	sent := time.Now()
	send(t, conn, "b")
	if got, _, err := receive(conn); got != "re:b" || time.Since(sent) < 10*time.Millisecond {
		t.Fatalf("received %q, %v after %s", got, err, time.Since(sent))
	}
	p.Delay(nil)
	p.LoseReply(nil, nil)
	send(t, conn, "c")
	if got, _, err := receive(conn); err == nil || !s.got("a", "b", "c") {
		t.Fatalf("received %q; the server received %q", got, s.requests)
	}
	p.Cut()
	if _, _, err := receive(dial(t, addr)); err == nil {
		t.Fatal("a proxy that is cut passes a connection on")
	}
	p.Mend()
	conn = dial(t, addr)
	send(t, conn, "d")
	if got, _, err := receive(conn); got != "re:d" {
		t.Fatalf("after the cut: received %q, %v", got, err)
	}
}

func TestCloseOverTCPDuringFaults(t *testing.T) {
	p, _, addr := overTCP(t)
	conn := dial(t, addr)
	p.Hang()
	send(t, conn, "a")
	p.Drop(faultproxy.ToClient)
	p.Close()
	if _, _, err := receive(conn); err == nil {
		t.Error("a closed proxy passes data on")
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("a closed proxy listens")
	}
}

// A server that has ended closes the connections of its proxy.
func TestServerThatRefuses(t *testing.T) {
	p := faultproxy.New(faultproxy.TCP("127.0.0.1:1"))
	defer p.Close()
	addr, err := p.Listen()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := receive(dial(t, addr)); err == nil {
		t.Error("received something from no server")
	}
	if _, err := p.DialContext(t.Context(), "", ""); err == nil {
		t.Error("a dialer without a server returns a connection")
	}
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// A reply of HTTP/2 has headers or data. A frame between them belongs to the connection.
func TestHTTP2Control(t *testing.T) {
	frame := func(kind byte, payload string) string {
		return string([]byte{0, 0, byte(len(payload)), kind, 0, 0, 0, 0, 1}) + payload
	}
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	for _, c := range []struct {
		chunk   string
		control bool
	}{
		{preface + frame(4, ""), true},
		{frame(8, "1234") + frame(6, "12345678"), true},
		{frame(8, "1234") + frame(1, "h") + frame(0, "d"), false},
		{frame(0, "d"), false},
		{frame(6, "12345678") + frame(0, "d"), false},
		{"POST /v3/kv/txn HTTP/1.1\r\n", false}, // etcd's gateway
		{"HTTP/1.1 200 OK\r\n", false},
	} {
		if got := faultproxy.HTTP2Control(faultproxy.Chunk{Data: []byte(c.chunk)}); got != c.control {
			t.Errorf("%q: control %t", c.chunk, got)
		}
	}
}

// A ping is no request. A chunk that also has a request is one, and so is the reply to it.
func TestRedisPing(t *testing.T) {
	const ping, get = "*1\r\n$4\r\nPING\r\n", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
	for chunk, control := range map[string]bool{
		ping: true, strings.ToLower(ping + ping): true, "+PONG\r\n": true, "*2\r\n$4\r\npong\r\n$0\r\n\r\n": true,
		ping + get: false, get + ping: false, get: false, "+OK\r\n": false, "+PONG\r\n$1\r\n5\r\n": false,
		"*2\r\n$4\r\nPING\r\n$1\r\nk\r\n": false, "": false,
	} {
		if got := faultproxy.RedisPing(faultproxy.Chunk{Data: []byte(chunk)}); got != control {
			t.Errorf("%q: control %t", chunk, got)
		}
	}
}
