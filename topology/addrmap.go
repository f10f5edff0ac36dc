package topology

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// AddrMap maps an address to the one that is dialed instead. Sentinels and clusters announce the addresses at which the servers
// reach each other. A client elsewhere, such as on the host of containers, needs other ones. The zero value changes no address.
type AddrMap struct{ rules []rule }

// rule maps the addresses of a network, of a host, or one address, to another host. An empty toPort keeps the port.
type rule struct {
	network        netip.Prefix // not valid: from is a host or host:port
	from           string
	toHost, toPort string
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

func parseRule(text string) (r rule, err error) {
	from, to, _ := strings.Cut(text, "=")
	if from == "" || to == "" {
		return r, fmt.Errorf("write FROM=TO, such as 10.66.6.0/24=127.0.0.1")
	}
	r = rule{from: from, toHost: to}
	if strings.Contains(from, "/") {
		if r.network, err = netip.ParsePrefix(from); err != nil {
			return r, fmt.Errorf("%s is no network", from)
		}
	}
	if host, port, err := net.SplitHostPort(to); err == nil {
		if _, _, err := net.SplitHostPort(from); err != nil {
			return r, fmt.Errorf("%s names a port, so %s must name one", to, from)
		}
		r.toHost, r.toPort = host, port
	}
	return r, nil
}

// Resolve returns the address to dial instead of addr, a host:port.
func (m AddrMap) Resolve(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	ip, _ := netip.ParseAddr(host) // of a name it is not valid, and in no network
	for _, r := range m.rules {
		if r.from == addr || r.from == host || r.network.Contains(ip) {
			return net.JoinHostPort(r.toHost, cmp.Or(r.toPort, port))
		}
	}
	return addr
}
