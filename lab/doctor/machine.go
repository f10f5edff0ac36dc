package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/shirou/gopsutil/v4/mem"
	netstat "github.com/shirou/gopsutil/v4/net"

	"locklab/lab/servers"
)

const (
	gib          = 1 << 30
	neededMemory = 2 * gib

	howToGetRedis = "install its own package (packages.redis.io), or that of a newer system; until then it is as if there were none"
	howToMoveNet  = "set LAB_NET=172.30.66 in .env, or three other numbers that are not in use"
)

// files checks that there is a lab to start.
func (m machine) files(context.Context) []Result {
	if m.lab.Err != nil {
		return problem(m.lab.Err.Error(), "run it in the checkout with Docker Compose, or name that with --dir; "+
			"until then images, ports and subnet are not checked")
	}
	dir, _ := filepath.Abs(m.lab.Dir)
	return ok(fmt.Sprintf("docker-compose.yml in %s: %d images, %d ports", dir, len(m.lab.Images), len(m.lab.Ports)))
}

// memory checks Docker Desktop's virtual machine, whose available memory is not known, or else this machine.
func (m machine) memory(ctx context.Context) []Result {
	here, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return problem("not known: "+err.Error(), "check that 2 GiB are available")
	}
	is, _ := m.info(ctx)
	return judgeMemory(is.MemTotal, here.Total, here.Available)
}

func judgeMemory(ofEngine, total, available uint64) []Result {
	const rounding = 64 << 20 // two ways to count the same memory differ by less
	if ofEngine != 0 && ofEngine+rounding < total {
		found := fmt.Sprintf("Docker has %s of this machine's %s", inGiB(ofEngine), inGiB(total))
		if ofEngine < neededMemory {
			return problem(found, "give Docker 4 GiB: Docker Desktop, Settings, Resources; in WSL: memory=4GB in .wslconfig")
		}
		return ok(found)
	}
	found := fmt.Sprintf("%s, %s of it available", inGiB(total), inGiB(available))
	if available < neededMemory {
		return problem(found, "close programs until 2 GiB are available")
	}
	return ok(found)
}

func inGiB(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/gib) }

// subnet checks that no interface of this machine has addresses of the lab's network. A VPN that has only a route to them is not seen.
// Docker itself refuses the addresses of its other networks.
func (m machine) subnet(ctx context.Context) []Result {
	subnet, err := netip.ParsePrefix(m.lab.Subnet)
	if err != nil {
		return problem(fmt.Sprintf("%q is no subnet", m.lab.Subnet), "set LAB_NET in .env to three numbers, such as 10.66.6")
	}
	interfaces, _ := netstat.InterfacesWithContext(ctx)
	for _, i := range interfaces {
		for _, address := range i.Addrs {
			prefix, err := netip.ParsePrefix(address.Addr)
			bridge := strings.HasPrefix(i.Name, "br-") // of a network of Docker: maybe of this lab
			if err == nil && prefix.Overlaps(subnet) && !bridge {
				return problem(fmt.Sprintf("%s is in use by the interface %s (%s)", subnet, i.Name, prefix.Masked()), howToMoveNet)
			}
		}
	}
	return ok(m.lab.Subnet + " is free")
}

// redis checks the program on the PATH. Without one, miniredis is Redis.
func (m machine) redis(ctx context.Context) []Result {
	return m.redisServer(ctx,
		"not on the PATH: demo has miniredis, and only the topology single; lab run --all, --quick and --article need --embedded")
}

// redisServer checks redis-server. Without one, without says what is lost.
func (m machine) redisServer(ctx context.Context, without string) []Result {
	out, err := m.run(ctx, servers.RedisServer.Name, "--version")
	if errors.Is(err, exec.ErrNotFound) {
		return ok(without)
	} else if err != nil {
		return problem(err.Error(), servers.RedisServer.Install())
	}
	version := versionNumber.FindString(out)
	return newEnough(version, version, servers.RedisServer.Oldest, howToGetRedis)
}
