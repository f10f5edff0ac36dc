package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"locklab/lab/servers/compose"
)

// UseContainers makes the topologies of this stack run in containers: the Redis services of the compose file in a checkout. They get a
// project, a network and ports of their own, so that a lab that is up is not disturbed. One topology at a time.
func (s *Stack) UseContainers(checkout string) { s.checkout = checkout }

// readyService is healthy when a topology is complete. It depends on the servers of every topology.
const readyService = "redis-ready"

// startContainers starts a topology in containers.
func (s *Stack) startContainers(ctx context.Context, t *Topology) error {
	docker, err := s.startProject(ctx, t.Kind)
	if err != nil {
		return err
	}
	t.Password = docker.Environment("app-1", "LAB_REDIS_PASSWORD")
	t.Map = []string{docker.HostAddrMap()}
	for _, service := range slices.Sorted(maps.Keys(docker.Files.Services[readyService].DependsOn)) {
		if !docker.Files.Services[service].Starts() { // of another topology
			continue
		}
		c, err := docker.Container(ctx, service)
		if err != nil {
			return err
		}
		addr := docker.Published(service)
		_, port, _ := net.SplitHostPort(addr)
		n := &Node{
			Restartable: Restartable{Server: newContainer(c), Name: service, Addr: addr},
			inside:      net.JoinHostPort(c.Address(), port), password: t.Password,
		}
		if strings.HasPrefix(service, "sentinel-") {
			n.password = ""
			t.Sentinels = append(t.Sentinels, n)
			continue
		}
		t.Nodes = append(t.Nodes, n)
	}
	if t.proxied && len(t.Nodes) == 1 { // no other container needs to reach the proxy
		n := t.Nodes[0]
		if n.Proxy, err = s.Proxy("proxy of "+n.Name, n.Addr); err != nil {
			return err
		}
	}
	t.setAddrs()
	return nil
}

// startProject starts the Redis services of a topology as a project of their own.
func (s *Stack) startProject(ctx context.Context, kind string) (docker compose.Docker, err error) {
	err = whileTaken(func() error {
		name := fmt.Sprintf("locklab-lab-%d-%04x", os.Getpid(), rand.N(1<<16))
		settings, err := freeSettings(name)
		if err != nil {
			return err
		}
		if docker.Project, err = compose.Load(ctx, s.checkout, kind, settings...); err != nil {
			return err
		}
		takedown, err := s.takedown(name)
		if err != nil {
			return err
		}
		s.add(takedown)
		return docker.Up(ctx, readyService)
	})
	return docker, err
}

// freeSettings are settings that no other project has: a name, a network in which this machine has no address, and ports.
func freeSettings(name string) ([]string, error) {
	ours, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for range 100 {
		network := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 66, byte(rand.N(256)), 0}), 24)
		if slices.ContainsFunc(ours, func(a net.Addr) bool {
			at, err := netip.ParsePrefix(a.String())
			return err == nil && at.Overlaps(network)
		}) {
			continue
		}
		ports := fmt.Sprint(200 + rand.N(70)) // 20000 to 26999: below allPorts
		return []string{
			"COMPOSE_PROJECT_NAME=" + name, "LAB_NET=" + strings.TrimSuffix(network.Addr().String(), ".0"), "REDIS_SINGLE_PORT=" + ports + "00",
			"REDIS_PORTS=" + ports + "1", "SENTINEL_PORTS=" + ports + "2", "CLUSTER_PORTS=" + ports + "3", "REDLOCK_PORTS=" + ports + "4",
			"CHECK_EVERY=5s", // whatever .env says: a trial waits for the first check
		}, nil
	}
	return nil, errors.New("this machine has addresses in every network of 10.66.0.0/16")
}
