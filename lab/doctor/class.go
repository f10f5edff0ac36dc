package doctor

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/mem"
	netstat "github.com/shirou/gopsutil/v4/net"
)

// classPort is the one that app lab serve listens on unless --listen names another.
const classPort = 8070

// ClassChecks returns the checks for a class in browsers, which needs no containers.
func ClassChecks() []Check {
	m := machine{run: execute}
	return []Check{
		{"memory", ownMemory},
		{"redis-server", m.redisOfClass},
		{"port", func(ctx context.Context) []Result { return freePort(ctx, classPort) }},
		{"address", func(context.Context) []Result { return judgeAddresses(LANAddresses(), classPort) }},
	}
}

// ownMemory checks this machine.
func ownMemory(ctx context.Context) []Result {
	here, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return problem("not known: "+err.Error(), "check that 2 GiB are available")
	}
	return judgeMemory(0, here.Total, here.Available)
}

func (m machine) redisOfClass(ctx context.Context) []Result {
	return m.redisServer(ctx, "not on the PATH: scene 6 shows a recorded run, and Servers only a single Redis")
}

func freePort(ctx context.Context, port int) []Result {
	if !taken(port) {
		return ok(fmt.Sprintf("%d is free", port))
	}
	connections, _ := netstat.ConnectionsWithContext(ctx, "tcp")
	return problem(fmt.Sprintf("%d: taken by %s", port, processOn(ctx, port, connections)),
		"stop it, or give lab serve another port, such as --listen 0.0.0.0:8071")
}

// judgeAddresses names the pages that phones could open. Which of the networks the phones are in is not known.
func judgeAddresses(addresses []string, port int) []Result {
	if len(addresses) == 0 {
		return problem("this machine has no address that a phone can reach", "join the network of the room, or open a hotspot")
	}
	var pages []string
	for _, address := range addresses {
		pages = append(pages, "http://"+net.JoinHostPort(address, strconv.Itoa(port))+"/ui/join")
	}
	return ok("phones open " + strings.Join(pages, " or "))
}

// LANAddresses returns the IPv4 addresses at which other machines may reach this one, the most likely first. Those of container networks
// are left out.
func LANAddresses() (all []string) {
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if isOfContainers(i.Name) {
			continue
		}
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if ip, is := a.(*net.IPNet); is && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
				all = append(all, ip.IP.String())
			}
		}
	}
	return all
}

func isOfContainers(name string) bool {
	for _, prefix := range []string{"docker", "br-", "veth", "virbr"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
