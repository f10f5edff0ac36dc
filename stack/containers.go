package stack

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"

	"locklab/stack/compose"
)

// Containers lets the topologies of this stack run in containers: the Redis services of the compose file in a checkout, in a
// project, a network and ports of their own, so that the lab that is up stays as it is. One topology at a time.
func (s *Stack) Containers(checkout string) { s.checkout = checkout }

// ready is the service that is healthy when a topology is whole. It depends on every server.
const ready = "redis-ready"

// contained starts a topology in containers.
func (s *Stack) contained(ctx context.Context, t *Topology) error {
	docker, err := s.project(ctx, t.Kind)
	if err != nil {
		return err
	}
	t.Password = docker.Variable("REDIS_PASSWORD")
	t.Map = []string{docker.Variable(netVariable) + ".0/24=127.0.0.1"}
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
		if n.Link, err = s.Link("link of "+n.Name, n.Addr); err != nil {
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
func (s *Stack) project(ctx context.Context, kind string) (docker compose.Docker, err error) {
	for range attempts {
		name := fmt.Sprintf("locklab-lab-%d-%04x", os.Getpid(), rand.N(1<<16))
		settings, err := aside(name)
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
		if err = docker.Up(ctx, ready); err == nil || ctx.Err() != nil || !taken(err) {
			return docker, err
		}
	}
	return docker, err
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

// aside are settings with which a project is beside all others: a name, a network, and ports that are free now.
func aside(name string) ([]string, error) {
	for range 100 {
		prefix := fmt.Sprint(200 + rand.N(120)) // below those that clients are given
		if free(prefix) {
			return []string{
				nameVariable + "=" + name, fmt.Sprintf("%s=10.66.%d", netVariable, 7+rand.N(248)),
				"REDIS_SINGLE_PORT=" + prefix + "00", "REDIS_PORTS=" + prefix + "1", "SENTINEL_PORTS=" + prefix + "2", "CLUSTER_PORTS=" + prefix + "3", "REDLOCK_PORTS=" + prefix + "4",
			}, nil
		}
	}
	return nil, fmt.Errorf("stack: no free ports from 20000 to 31999")
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

// downRole is a process that outlives the lab, however that ends, takes its containers down, and removes the stack's directory.
var downRole = Role("containers", func(in io.Reader, out io.Writer) int {
	lines := bufio.NewReader(in)
	name, err := lines.ReadString('\n')
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, lines) // until the lab ends
	defer func() { _ = os.RemoveAll(os.Getenv(dirVariable)) }()
	text, err := exec.Command("docker", "compose", "--project-name", strings.TrimSpace(name), "down", "--timeout", "5").CombinedOutput()
	if err != nil {
		fmt.Fprintf(out, "docker compose down: %v: %s", err, text)
		return 1
	}
	return 0
})

// down takes a project's containers down when it is stopped, or when this process has ended.
type down struct {
	process *exec.Cmd
	in      io.Closer
	out     *strings.Builder
}

func (s *Stack) takenDown(name string) (*down, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	d := &down{process: exec.Command(self), out: new(strings.Builder)}
	d.process.Env = append(os.Environ(), roleVariable+"="+downRole, dirVariable+"="+s.dir)
	d.process.Stdout = d.out
	d.process.SysProcAttr = apart()
	in, err := d.process.StdinPipe()
	if err == nil {
		err = d.process.Start()
	}
	if err == nil {
		_, err = fmt.Fprintln(in, name)
	}
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	d.in = in
	return d, nil
}

// Stop takes the containers down, and returns when they are gone.
func (d *down) Stop() error {
	_ = d.in.Close()
	if err := d.process.Wait(); err != nil {
		return fmt.Errorf("stack: %s: %w", d.out, err)
	}
	return nil
}
