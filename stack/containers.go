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

// UseContainers makes the topologies of this stack run in containers: the Redis services of the compose file in a checkout. They get a
// project, a network and ports of their own, so that a lab that is up is not disturbed. One topology at a time.
func (s *Stack) UseContainers(checkout string) { s.checkout = checkout }

// readyService is healthy when a topology is complete. It depends on every server.
const readyService = "redis-ready"

// startContainers starts a topology in containers.
func (s *Stack) startContainers(ctx context.Context, t *Topology) error {
	docker, err := s.startProject(ctx, t.Kind)
	if err != nil {
		return err
	}
	t.Password = docker.Variable("REDIS_PASSWORD")
	t.Map = []string{docker.HostAddrMap()}
	for _, service := range slices.Sorted(maps.Keys(docker.Files.Services[readyService].DependsOn)) {
		c, err := docker.Container(ctx, service)
		if err != nil {
			return fmt.Errorf("stack: %w", err)
		}
		addr := docker.Published(service)
		_, port, _ := net.SplitHostPort(addr)
		n := &Node{Server: newContainer(c), Name: service, Addr: addr, inside: net.JoinHostPort(c.Address(), port), password: t.Password}
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

// startProject starts the Redis services of a topology as a project of their own. It tries again when another program has taken the
// network or a port meanwhile.
func (s *Stack) startProject(ctx context.Context, kind string) (docker compose.Docker, failed error) {
	for range attempts {
		name := fmt.Sprintf("locklab-lab-%d-%04x", os.Getpid(), rand.N(1<<16))
		settings, err := s.freeSettings(ctx, name)
		if err != nil {
			return docker, err
		}
		project, err := compose.Load(ctx, s.checkout, kind, settings...)
		if err != nil {
			return docker, err
		}
		takedown, err := s.takedown(name)
		if err != nil {
			return docker, err
		}
		s.add(takedown)
		docker = compose.Docker{Project: project}
		failed = docker.Up(ctx, readyService)
		takedown.created = failed == nil
		if failed == nil || ctx.Err() != nil || !taken(failed) {
			return docker, failed
		}
	}
	return docker, failed
}

// taken reports whether Docker refused the network or a port because another program uses it.
func taken(err error) bool {
	return slices.ContainsFunc([]string{"overlap", "already allocated", "already in use"}, func(text string) bool {
		return strings.Contains(err.Error(), text)
	})
}

// Settings of the compose files that a project of its own changes.
const (
	nameVariable = "COMPOSE_PROJECT_NAME"
	netVariable  = "LAB_NET"
)

// freeSettings are settings that no other project has: a name, a network near that of the files, and ports that are free now.
func (s *Stack) freeSettings(ctx context.Context, name string) ([]string, error) {
	files, err := compose.Load(ctx, s.checkout, "")
	if err != nil {
		return nil, err
	}
	network, err := freeNetwork(files.Variable(netVariable))
	if err != nil {
		return nil, err
	}
	for range 100 {
		prefix := fmt.Sprint(200 + rand.N(120)) // below the ports that the kernel gives to clients
		if freePorts(prefix) {
			return []string{
				nameVariable + "=" + name, netVariable + "=" + network, "REDIS_SINGLE_PORT=" + prefix + "00",
				"REDIS_PORTS=" + prefix + "1", "SENTINEL_PORTS=" + prefix + "2", "CLUSTER_PORTS=" + prefix + "3", "REDLOCK_PORTS=" + prefix + "4",
			}, nil
		}
	}
	return nil, fmt.Errorf("stack: no free ports from 20000 to 31999")
}

// freeNetwork returns the first three numbers of a network. It differs from lab in the last one, and this machine has no address in
// it.
func freeNetwork(lab string) (string, error) {
	numbers := strings.Split(lab, ".")
	ours, err := net.InterfaceAddrs()
	if err != nil || len(numbers) != 3 {
		return "", errors.Join(err, fmt.Errorf("stack: %s is %q: it must be the first three numbers of a network", netVariable, lab))
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

// freePorts reports whether no program listens on the 50 ports that begin with prefix.
func freePorts(prefix string) bool {
	for i := range 50 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%s%02d", prefix, i))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}
