//go:build unix

package deploy_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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
		"cluster-node.sh": strings.ReplaceAll(string(script), "/data/", "$DATA/"),
		"node.sh":         `exec redis-server --port "$PORT" --bind 127.0.0.1 --dir "$DATA" --save '' --repl-diskless-sync-delay 0 "$@"`,
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var addrs []string
	for range c.servers {
		c.ports = append(c.ports, clusterPort(t))
		addrs = append(addrs, "127.0.0.1:"+c.ports[len(c.ports)-1])
	}
	c.nodes = strings.Join(addrs, " ")
	t.Cleanup(func() {
		for i := range c.servers {
			c.kill(i)
		}
	})
	return c
}

// clusterPort is free, and so is the port 10000 above, which a node of a cluster uses as well.
func clusterPort(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		if bus, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+10000)); err == nil {
			bus.Close()
			return fmt.Sprint(port)
		}
	}
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
