package stack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"

	"locklab/stack/compose"
)

// UseContainers lets the topologies of this stack run in containers: the Redis services of the compose file in a checkout, in a
// project, a network and ports of their own, so that the lab that is up stays as it is. One topology at a time.
func (s *Stack) UseContainers(checkout string) { s.checkout = checkout }

// ready is the service that is healthy when a topology is whole. It depends on every server.
const ready = "redis-ready"

// contained starts a topology in containers.
func (s *Stack) contained(ctx context.Context, t *Topology) error {
	docker, err := s.project(ctx, t.Kind)
	if err != nil {
		return err
	}
	t.Password = docker.Variable("REDIS_PASSWORD")
	t.Map = []string{docker.FromHost()}
	for _, service := range slices.Sorted(maps.Keys(docker.Files.Services[ready].DependsOn)) {
		c, err := docker.Container(ctx, service)
		if err != nil {
			return fmt.Errorf("stack: %w", err)
		}
		addr := docker.Published(service)
		_, port, _ := net.SplitHostPort(addr)
		n := &Node{Server: contain(c), Name: service, Addr: addr, inside: net.JoinHostPort(c.Address(), port), password: t.Password}
		if strings.HasPrefix(service, "sentinel-") {
			n.password = ""
			t.Sentinels = append(t.Sentinels, n)
			continue
		}
		t.Nodes = append(t.Nodes, n)
	}
	if t.linked && len(t.Nodes) == 1 { // no other server follows it: a link is for its clients
		n := t.Nodes[0]
		if n.Proxy, err = s.Proxy("proxy of "+n.Name, n.Addr); err != nil {
			return err
		}
	}
	t.Addrs = addrs(t.Nodes)
	if len(t.Sentinels) > 0 {
		t.Addrs = addrs(t.Sentinels)
	}
	return nil
}

// attempts is how often a network and ports are looked for: who else looks may be faster.
const attempts = 5

// project brings up the Redis services of a topology as a project of their own.
func (s *Stack) project(ctx context.Context, kind string) (docker compose.Docker, failed error) {
	for range attempts {
		name := fmt.Sprintf("locklab-lab-%d-%04x", os.Getpid(), rand.N(1<<16))
		settings, err := s.aside(ctx, name)
		if err != nil {
			return docker, err
		}
		project, err := compose.Load(ctx, s.checkout, kind, settings...)
		if err != nil {
			return docker, err
		}
		down, err := s.takenDown(name)
		if err != nil {
			return docker, err
		}
		s.add(down)
		docker = compose.Docker{Project: project}
		failed = docker.Up(ctx, ready)
		down.up = failed == nil
		if failed == nil || ctx.Err() != nil || !taken(failed) {
			return docker, failed
		}
	}
	return docker, failed
}

// taken reports whether Docker says that somebody else has the network or a port.
func taken(err error) bool {
	return strings.Contains(err.Error(), "overlap") || strings.Contains(err.Error(), "already allocated") || strings.Contains(err.Error(), "already in use")
}

// Settings of the compose files that a project of its own changes.
const (
	nameVariable = "COMPOSE_PROJECT_NAME"
	netVariable  = "LAB_NET"
)

// aside are settings with which a project is beside all others: a name, a network near that of the files, and ports that are free now.
func (s *Stack) aside(ctx context.Context, name string) ([]string, error) {
	files, err := compose.Load(ctx, s.checkout, "")
	if err != nil {
		return nil, err
	}
	network, err := near(files.Variable(netVariable))
	if err != nil {
		return nil, err
	}
	for range 100 {
		prefix := fmt.Sprint(200 + rand.N(120)) // below those that clients are given
		if free(prefix) {
			return []string{
				nameVariable + "=" + name, netVariable + "=" + network,
				"REDIS_SINGLE_PORT=" + prefix + "00", "REDIS_PORTS=" + prefix + "1", "SENTINEL_PORTS=" + prefix + "2", "CLUSTER_PORTS=" + prefix + "3", "REDLOCK_PORTS=" + prefix + "4",
			}, nil
		}
	}
	return nil, fmt.Errorf("stack: no free ports from 20000 to 31999")
}

// near returns the first three numbers of a network that differs from lab in the last of them, and in which this machine has no address.
func near(lab string) (string, error) {
	numbers := strings.Split(lab, ".")
	ours, err := net.InterfaceAddrs()
	if err != nil || len(numbers) != 3 {
		return "", errors.Join(err, fmt.Errorf("stack: %s is %q: it has the first three numbers of a network", netVariable, lab))
	}
	for range 100 {
		candidate := fmt.Sprintf("%s.%s.%d", numbers[0], numbers[1], rand.N(256))
		taken := slices.ContainsFunc(ours, func(a net.Addr) bool {
			at, is := a.(*net.IPNet)
			return is && (at.Contains(net.ParseIP(candidate+".1")) || strings.HasPrefix(at.IP.String(), candidate+"."))
		})
		if candidate != lab && !taken {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("stack: no network near %s.0/24 is free on this machine", lab)
}

// free reports whether nobody listens on the ports that begin with prefix.
func free(prefix string) bool {
	for i := range 50 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%s%02d", prefix, i))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}
