package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// user is somebody who has addresses.
type user struct {
	what   string
	prefix netip.Prefix
}

// subnet checks that nobody but the lab's own network has its addresses: no other network of Docker,
// no interface, no route. A route over the same interface as the way to everywhere else is not seen.
func (m machine) subnet(ctx context.Context) []Result {
	subnet, err := netip.ParsePrefix(m.lab.Subnet)
	if err != nil {
		return problem(fmt.Sprintf("%q is no subnet", m.lab.Subnet), "set LAB_NET in .env to three numbers, such as 10.66.6")
	}
	networks, asked := m.networks(ctx)
	ours, others := split(networks, m.lab.Network)
	others = append(others, interfaces(ours)...)
	who := inUse(subnet, ours, others)
	if who == "" {
		found := m.lab.Subnet + " is free"
		if slices.Contains(ours, subnet) {
			found = m.lab.Subnet + " is this lab's"
		}
		if !asked {
			found += " on this machine; Docker's networks could not be asked"
		}
		return ok(found)
	}
	do := "set LAB_NET in .env to three numbers that nobody has"
	for _, other := range []string{"10.166.66", "172.30.66", "192.168.166", "198.18.66"} {
		if inUse(netip.MustParsePrefix(other+".0/24"), ours, others) == "" {
			do = "set LAB_NET=" + other + " in .env: nobody has that"
			break
		}
	}
	if !asked {
		do = seeDocker + " first, for it may be this lab's own network; else " + do
	}
	return problem(m.lab.Subnet+" is in use by "+who, do)
}

// inUse names who has addresses of the subnet.
func inUse(subnet netip.Prefix, ours []netip.Prefix, others []user) string {
	for _, u := range others {
		if u.prefix.Overlaps(subnet) {
			return fmt.Sprintf("%s (%s)", u.what, u.prefix)
		}
	}
	return routed(subnet, ours)
}

// network is what `docker network inspect` says of one.
type network struct {
	Name string
	IPAM struct {
		Config []struct{ Subnet string }
	}
}

// networks are all of Docker's.
func (m machine) networks(ctx context.Context) ([]network, bool) {
	ids, err := m.run(ctx, "docker", "network", "ls", "--quiet")
	if err != nil || ids.out == "" {
		return nil, false
	}
	// One that has just gone makes an error; the others are printed all the same.
	got, _ := m.run(ctx, "docker", append([]string{"network", "inspect", "--format", "{{json .}}"}, strings.Fields(ids.out)...)...)
	var all []network
	for line := range strings.Lines(got.out) {
		var n network
		if json.Unmarshal([]byte(line), &n) == nil {
			all = append(all, n)
		}
	}
	return all, len(all) > 0
}

// split tells the lab's own addresses from those of other networks.
func split(networks []network, own string) (ours []netip.Prefix, others []user) {
	for _, n := range networks {
		for _, c := range n.IPAM.Config {
			prefix, err := netip.ParsePrefix(c.Subnet)
			switch {
			case err != nil:
			case n.Name == own:
				ours = append(ours, prefix)
			default:
				others = append(others, user{"Docker's network " + n.Name, prefix})
			}
		}
	}
	return ours, others
}

// interfaces are those of this machine but the bridge of our own network, known by its address.
func interfaces(ours []netip.Prefix) []user {
	var all []user
	list, _ := net.Interfaces()
	for _, i := range list {
		addresses, _ := i.Addrs()
		for _, address := range addresses {
			prefix, err := netip.ParsePrefix(address.String())
			if err == nil && !within(prefix.Addr(), ours) {
				all = append(all, user{"the interface " + i.Name, prefix.Masked()})
			}
		}
	}
	return all
}

func within(address netip.Addr, prefixes []netip.Prefix) bool {
	for _, prefix := range prefixes {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// routed asks the system, without sending anything, by which of its addresses it would speak to the
// subnet. When that is not the one for everywhere else there is a route: a VPN's, for example.
func routed(subnet netip.Prefix, ours []netip.Prefix) string {
	elsewhere := speaksFrom("192.0.2.1") // nobody's, kept for examples (RFC 5737)
	address := subnet.Addr()
	for range 3 { // the first addresses
		address = address.Next()
		if from := speaksFrom(address.String()); from.IsValid() && from != elsewhere && !within(from, ours) && !from.IsLoopback() {
			return fmt.Sprintf("a route from the address %s, perhaps of a VPN", from)
		}
	}
	return ""
}

func speaksFrom(to string) netip.Addr {
	conn, err := net.Dial("udp4", net.JoinHostPort(to, "9"))
	if err != nil {
		return netip.Addr{}
	}
	defer conn.Close()
	from, _ := netip.ParseAddrPort(conn.LocalAddr().String())
	return from.Addr().Unmap()
}
