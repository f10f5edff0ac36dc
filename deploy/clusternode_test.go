//go:build unix

package deploy_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

// clusterNodes are six servers that cluster-node.sh starts, as in containers.
type clusterNodes struct {
	t       *testing.T
	dir     string
	ports   []string
	nodes   string // as $NODES
	servers []*exec.Cmd
}

func newClusterNodes(t *testing.T) *clusterNodes {
	t.Helper()
	c := &clusterNodes{t: t, dir: t.TempDir(), servers: make([]*exec.Cmd, 6)}
	script, err := os.ReadFile("redis-topologies/cluster-node.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"cluster-node.sh": strings.NewReplacer("/data/", "$DATA/", "port + 10000", "port + 1").Replace(string(script)),
		"node.sh": `exec redis-server --port "$PORT" --cluster-port $((PORT + 1)) --bind 127.0.0.1 --dir "$DATA" \
			--save '' --repl-diskless-sync-delay 0 "$@"`,
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, port := range twoPorts(t, len(c.servers)) {
		c.ports = append(c.ports, strconv.Itoa(port))
		c.nodes += fmt.Sprintf("127.0.0.1:%d ", port)
	}
	t.Cleanup(func() {
		for i := range c.servers {
			c.kill(i)
		}
	})
	return c
}

// twoPorts returns n ports of this test, each of which has the next one for its cluster bus.
func twoPorts(t *testing.T, n int) (first []int) {
	t.Helper()
	addrs, err := testenv.Stack(t).FreeAddrs(4 * n) // among so many, most are neighbours
	if err != nil {
		t.Fatal(err)
	}
	var ports []int
	for _, addr := range addrs {
		_, text, _ := net.SplitHostPort(addr)
		port, _ := strconv.Atoi(text)
		ports = append(ports, port)
	}
	slices.Sort(ports)
	for i := 1; i < len(ports) && len(first) < n; i++ {
		if ports[i] == ports[i-1]+1 {
			first = append(first, ports[i-1])
			i++
		}
	}
	if len(first) < n {
		t.Fatalf("too few neighbours among %v", ports)
	}
	return first
}

// start starts a node as a container does: with an empty folder.
func (c *clusterNodes) start(i int) {
	c.t.Helper()
	data, err := os.MkdirTemp(c.dir, "data-")
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command("sh", filepath.Join(c.dir, "cluster-node.sh"))
	cmd.Env = append(os.Environ(), "PORT="+c.ports[i], "NODES="+c.nodes, "DATA="+data)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.servers[i] = cmd
}

func (c *clusterNodes) kill(i int) {
	if cmd := c.servers[i]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	c.servers[i] = nil
}

// wait waits until the topology is ready, as redis-ready has it, and a node has a role.
func (c *clusterNodes) wait(what string, node int, role string) {
	c.t.Helper()
	testenv.Eventually(c.t, what, func() bool {
		ready := exec.Command("sh", "redis-topologies/cluster-ready.sh")
		ready.Env = append(os.Environ(), "NODES="+c.nodes)
		info, _ := exec.Command("redis-cli", "-p", c.ports[node], "info", "replication").Output()
		return ready.Run() == nil && strings.Contains(string(info), "role:"+role+"\r\n")
	})
}

// A cluster needs nobody who makes it. A node that comes back is a part of it again, and takes its slots from nobody: as a replica of the
// node that was promoted in its place, or, if nobody has noticed its death, as the master that it was.
func TestAClusterNodeComesBack(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	c := newClusterNodes(t)
	for i := range c.servers {
		c.start(i)
	}
	c.wait("six nodes are a cluster", 0, "master")
	testenv.Eventually(t, "the replica has the data of its master", func() bool {
		info, _ := exec.Command("redis-cli", "-p", c.ports[3], "info", "replication").Output()
		return strings.Contains(string(info), "master_link_status:up")
	})
	c.kill(0)
	testenv.Eventually(t, "the replica is promoted", func() bool {
		info, _ := exec.Command("redis-cli", "-p", c.ports[3], "info", "replication").Output()
		return strings.Contains(string(info), "role:master")
	})
	c.start(0)
	c.wait("the old master is a replica", 0, "slave")
	c.kill(3)
	c.start(3) // before anybody has noticed
	c.wait("the promoted node is the master again", 3, "master")
}
