package topology

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// AddrMap says where an address is to be dialed. Sentinels and clusters announce the addresses that
// servers have among themselves; a client elsewhere, such as on the host of containers, reaches them
// at other ones. The zero map dials every address as it is.
type AddrMap struct{ rules []rule }

// rule sends the addresses of a network, or of one host, to another host. An empty port stands for
// every port, and for the same port again.
type rule struct {
	network            netip.Prefix // valid: instead of fromHost
	fromHost, fromPort string
	toHost, toPort     string
}

// ParseAddrMap reads rules of the form FROM=TO. FROM is a network (10.66.6.0/24), a host or
// host:port; TO is a host or, for a FROM with a port, host:port. The first rule that fits applies.
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

// split takes host:port apart, and leaves a lone host as it is.
func split(addr string) (host, port string) {
	if host, port, err := net.SplitHostPort(addr); err == nil {
		return host, port
	}
	return addr, ""
}

// Resolve returns where addr, a host:port, is to be dialed.
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

// before puts the map before a dialer.
func (m AddrMap) before(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dial(ctx, network, m.Resolve(addr))
	}
}
