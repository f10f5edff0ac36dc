package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"sync/atomic"
	"time"

	"locklab/internal/faultproxy"
)

// Proxy is a fault proxy before a server.
type Proxy struct {
	*faultproxy.Proxy
	Name string
	Addr string // host:port, for the clients

	waits  time.Duration // for a server that refuses a connection, before that is closed
	server atomic.Value  // string: the address of the server; empty: it is not started yet, and connections are closed
}

// Proxy starts a fault proxy before the server at an address; "": the server is not started yet.
func (s *Stack) Proxy(name, server string) (*Proxy, error) {
	return s.proxy(&Proxy{Name: name}, server)
}

func (s *Stack) proxy(p *Proxy, server string) (_ *Proxy, err error) {
	p.server.Store(server)
	p.Proxy = faultproxy.New(p.dialServer)
	p.Label = sender
	if p.Addr, err = p.Listen(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	s.add(p)
	return p, nil
}

func (p *Proxy) dialServer(ctx context.Context) (conn net.Conn, err error) {
	addr := p.server.Load().(string)
	if addr == "" {
		return nil, errors.New("the server is not started")
	}
	if p.waits == 0 {
		return faultproxy.TCP(addr)(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, p.waits)
	defer cancel()
	err = Until(ctx, func(ctx context.Context) (err error) {
		conn, err = faultproxy.TCP(addr)(ctx)
		return err
	})
	return conn, err
}

// introductions are how servers introduce themselves to another one: a replica with the port at which it listens, a member of etcd with
// its id.
var introductions = []*regexp.Regexp{
	regexp.MustCompile(`listening-port\r\n\$\d+\r\n(\d+)\r\n`), regexp.MustCompile(`(?i)\r\nX-Server-From: ([0-9a-f]+)\r\n`),
}

// sender labels the connection of another server with what it calls itself.
func sender(label string, request []byte) string {
	const begin, end = 40, 80 // of the node's id in a message of a Redis Cluster
	if label == "" && bytes.HasPrefix(request, []byte("RCmb")) && len(request) >= end {
		return string(request[begin:end])
	}
	for _, introduction := range introductions {
		if found := introduction.FindSubmatch(request); label == "" && found != nil {
			return string(found[1])
		}
	}
	return label
}

// Stop ends the proxy and every connection: new ones are refused.
func (p *Proxy) Stop() error {
	p.Close()
	return nil
}
