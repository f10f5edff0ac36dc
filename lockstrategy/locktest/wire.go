package locktest

import (
	"context"
	"net"
	"testing"
	"time"

	"locklab/internal/faultproxy"
)

// Wire is the network between a client and its servers: a fault proxy before each server. A fault is made in all of them. The
// zero value has no servers.
type Wire struct {
	Control func(faultproxy.Chunk) bool // see [faultproxy.Proxy]
	// Loses accepts the requests whose reply LoseNextAnswer may lose: those that acquire or release. nil: faultproxy.NoGreeting.
	Loses func(request faultproxy.Chunk) bool

	proxies []*faultproxy.Proxy
}

// To starts the proxy before the server at addr, until the test ends, and returns the proxy's address.
func (w *Wire) To(t testing.TB, addr string) string {
	t.Helper()
	near, err := w.proxy(t, faultproxy.TCP(addr)).Listen()
	if err != nil {
		t.Fatal(err)
	}
	return near
}

// Before starts the proxy before the server that dial connects to, until the test ends, and returns what dials the proxy. All of it is in
// memory, for a bubble.
func (w *Wire) Before(t testing.TB, dial func() (net.Conn, error)) Dial {
	return w.proxy(t, func(context.Context) (net.Conn, error) { return dial() }).DialContext
}

// Dial connects to a server.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

func (w *Wire) proxy(t testing.TB, dial func(context.Context) (net.Conn, error)) *faultproxy.Proxy {
	p := faultproxy.New(dial)
	p.Control = w.Control
	t.Cleanup(p.Close)
	w.proxies = append(w.proxies, p)
	return p
}

func (w *Wire) each(fault func(*faultproxy.Proxy)) {
	for _, p := range w.proxies {
		fault(p)
	}
}

// Cut closes all connections, and new ones immediately.
func (w *Wire) Cut() { w.each((*faultproxy.Proxy).Cut) }

// Hang stops the traffic in both directions, and leaves the connections open. Bytes that were sent arrive later.
func (w *Wire) Hang() { w.each((*faultproxy.Proxy).Hang) }

// Mend ends every cut and hang, and withdraws the replies that are still to be lost.
func (w *Wire) Mend() { w.each((*faultproxy.Proxy).Mend) }

// Delay makes requests and replies later.
func (w *Wire) Delay(requests, replies time.Duration) {
	w.each(func(p *faultproxy.Proxy) { p.Delay(faultproxy.Latency(requests, replies)) })
}

// LoseNextAnswer passes requests on until a server replies to one that Loses accepts. The reply is lost, and the server's proxy cut.
func (w *Wire) LoseNextAnswer() {
	loses := w.Loses
	if loses == nil {
		loses = faultproxy.NoGreeting
	}
	w.each(func(p *faultproxy.Proxy) {
		p.LoseReply(loses, func(faultproxy.Chunk) { p.Cut() })
	})
}
