package topology

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// AddrMap maps an address to the one that is dialed instead. Sentinels and clusters announce the addresses at which the servers
// reach each other. A client elsewhere, such as on the host of containers, needs other ones. The zero value changes no address.
type AddrMap struct{ rules []rule }

// rule maps the addresses of a network, or of one host, to another host. An empty fromPort matches every port; an empty toPort
// keeps the port.
type rule struct {
	network            netip.Prefix // if it is valid, fromHost is not used
	fromHost, fromPort string
	toHost, toPort     string
}

// ParseAddrMap reads rules of the form FROM=TO. FROM is a network (10.66.6.0/24), a host or
// host:port; TO is a host or, for a FROM with a port, host:port. The first rule that matches applies.
func ParseAddrMap(rules []string) (AddrMap, error) {
	var m AddrMap
	for _, text := range rules {
		r, err := parseRule(text)
		if err != nil {
			return AddrMap{}, fmt.Errorf("%q: %w", text, err)
		}
		m.rules = append(m.rules, r)
	}
	return m, nil
}

func parseRule(text string) (rule, error) {
	from, to, _ := strings.Cut(text, "=")
	if from == "" || to == "" {
		return rule{}, fmt.Errorf("write FROM=TO, such as 10.66.6.0/24=127.0.0.1")
	}
	var r rule
	var err error
	if strings.Contains(from, "/") {
		if r.network, err = netip.ParsePrefix(from); err != nil {
			return rule{}, fmt.Errorf("%s is no network", from)
		}
	} else {
		r.fromHost, r.fromPort = split(from)
	}
	r.toHost, r.toPort = split(to)
	if r.toPort != "" && r.fromPort == "" {
		return rule{}, fmt.Errorf("%s names a port, so %s must name one", to, from)
	}
	return r, nil
}

// split splits host:port; a host without a port is returned as it is.
func split(addr string) (host, port string) {
	if host, port, err := net.SplitHostPort(addr); err == nil {
		return host, port
	}
	return addr, ""
}

// Resolve returns the address to dial instead of addr, a host:port.
func (m AddrMap) Resolve(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	for _, r := range m.rules {
		if r.matches(host, port) {
			if r.toPort != "" {
				port = r.toPort
			}
			return net.JoinHostPort(r.toHost, port)
		}
	}
	return addr
}

func (r rule) matches(host, port string) bool {
	if r.network.IsValid() {
		ip, err := netip.ParseAddr(host)
		return err == nil && r.network.Contains(ip)
	}
	return r.fromHost == host && (r.fromPort == "" || r.fromPort == port)
}

// dialer is what a go-redis client takes as its Dialer.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// before returns a dialer that resolves addresses first.
func (m AddrMap) before(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dial(ctx, network, m.Resolve(addr))
	}
}
