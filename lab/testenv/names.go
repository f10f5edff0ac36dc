package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"locklab/internal/faultproxy"
)

// namesAt is the variable that tells processes which a test starts where its DNS server is.
const namesAt = "LOCKLAB_TEST_DNS"

// names is the DNS server of this test binary. It knows the names of [Moved] servers only.
var names nameServer

// ServeNames starts a DNS server that knows the names of [Moved] servers. From now on this process asks it, and so do the processes that
// tests start, if they call [UseNames]. Call it in TestMain, before any test.
func ServeNames() {
	if os.Getenv("LOCKLAB_STACK_ROLE") != "" { // this process works for one that a test starts
		return
	}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err == nil {
		err = os.Setenv(namesAt, conn.LocalAddr().String())
	}
	if err != nil {
		panic(err)
	}
	AtEnd(conn.Close)
	go names.serve(conn)
	UseNames()
}

// UseNames lets this process ask the DNS server of the test that has started it, if it has one.
func UseNames() {
	if at := os.Getenv(namesAt); at != "" {
		net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", at)
		}}
	}
}

type nameServer struct {
	at sync.Map // from a name to its address, a [4]byte
}

func (n *nameServer) serve(conn net.PacketConn) {
	packet := make([]byte, 4096)
	for {
		length, from, err := conn.ReadFrom(packet)
		if err != nil {
			return
		}
		var message dnsmessage.Message
		if message.Unpack(packet[:length]) == nil && len(message.Questions) == 1 {
			n.answer(&message)
			if reply, err := message.Pack(); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}
}

// answer makes a reply of a question. It has no address of version 6.
func (n *nameServer) answer(message *dnsmessage.Message) {
	question := message.Questions[0]
	message.Response, message.Authoritative, message.Additionals = true, true, nil
	at, known := n.at.Load(question.Name.String())
	switch {
	case !known:
		message.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: at.([4]byte)},
		}}
	}
}

// Moved is a server with a name, which leads to 127.0.0.1 or to 127.0.0.2. It has the same port at both.
type Moved struct {
	name, port string
	server     string // the server itself, which both pass connections on to
	last       byte   // of the address now
	proxy      *faultproxy.Proxy
}

// Named gives the server at an address a name that begins with name, which must be unique in this test binary.
func Named(t testing.TB, name, server string) *Moved {
	t.Helper()
	m := &Moved{name: name + ".moving.test.", port: "0", server: server}
	t.Cleanup(func() { m.proxy.Close() })
	if err := m.serve(1); err != nil {
		t.Fatal(err)
	}
	return m
}

// Addr is what a client is told: the name, and the port.
func (m *Moved) Addr() string { return net.JoinHostPort(strings.TrimSuffix(m.name, "."), m.port) }

// Move ends the connections to the server, and gives its name the other address.
func (m *Moved) Move() error {
	m.proxy.Close()
	return m.serve(3 - m.last)
}

func (m *Moved) serve(last byte) error {
	l, err := net.Listen("tcp", net.JoinHostPort(net.IPv4(127, 0, 0, last).String(), m.port))
	if err != nil {
		return fmt.Errorf("an address of the loopback interface: %w", err)
	}
	_, m.port, _ = net.SplitHostPort(l.Addr().String())
	m.last, m.proxy = last, faultproxy.New(faultproxy.TCP(m.server))
	m.proxy.Serve(l)
	names.at.Store(m.name, [4]byte{127, 0, 0, last})
	return nil
}
