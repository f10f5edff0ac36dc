package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// zooKeeperJars are the directories in which packages of ZooKeeper put its jar files: Debian, Homebrew on Apple silicon, on Intel.
var zooKeeperJars = []string{"/usr/share/java", "/opt/homebrew/opt/zookeeper/libexec", "/usr/local/opt/zookeeper/libexec"}

// MissingZooKeeper says what is not on this machine to run a ZooKeeper server, and its package; nil: it is there.
func MissingZooKeeper() error {
	_, err := zooKeeperClasspath()
	return err
}

// zooKeeperClasspath finds the jar files. Debian's jar names the others that it needs. Homebrew's lies beside them.
func zooKeeperClasspath() (string, error) {
	const how = "Debian: apt-get install zookeeper, macOS: brew install zookeeper"
	if _, err := exec.LookPath("java"); err != nil {
		return "", fmt.Errorf("stack: no java for ZooKeeper on the PATH (%s)", how)
	}
	for _, dir := range zooKeeperJars {
		if _, err := os.Stat(filepath.Join(dir, "zookeeper.jar")); err == nil {
			return filepath.Join(dir, "slf4j-simple.jar") + ":" + filepath.Join(dir, "zookeeper.jar"), nil
		}
		if jars, _ := filepath.Glob(filepath.Join(dir, "zookeeper-[0-9]*.jar")); len(jars) > 0 {
			return filepath.Join(dir, "*"), nil
		}
	}
	return "", fmt.Errorf("stack: ZooKeeper's jar files are in none of %s (%s)", strings.Join(zooKeeperJars, ", "), how)
}

// zooKeeperConf is the file of a server. A tick of 200 ms allows sessions of 400 ms, and lets an ensemble miss a server after a second.
const zooKeeperConf = `tickTime=200
initLimit=50
syncLimit=5
dataDir=%s
clientPort=%d
clientPortAddress=127.0.0.1
maxClientCnxns=0
maxSessionTimeout=3600000
admin.enableServer=false
4lw.commands.whitelist=srvr,conf
%s`

// ZooKeeperNode is one ZooKeeper server. It keeps its data until the stack is closed.
type ZooKeeperNode struct {
	Server        // what runs it now: Restart replaces it
	Name   string // in the stack
	Addr   string // host:port, for clients

	dir   string
	links []*Proxy // between it and the others; none: they reach each other directly
	start func() (*Process, error)
}

// ZooKeeper starts n servers: one alone, or three as an ensemble. It returns when each of them serves clients, and one of three leads.
// Without java or the jar files the error says how to get them.
func (s *Stack) ZooKeeper(ctx context.Context, n int) (nodes []*ZooKeeperNode, err error) {
	return s.zooKeepers(ctx, n, false)
}

// ProxiedZooKeeper starts an ensemble of three servers that reach each other over a [Proxy] for each pair. So one of them can be cut off:
// see [ZooKeeperNode.Isolate]. Clients pass no proxy.
func (s *Stack) ProxiedZooKeeper(ctx context.Context) ([]*ZooKeeperNode, error) {
	return s.zooKeepers(ctx, 3, true)
}

func (s *Stack) zooKeepers(ctx context.Context, n int, proxied bool) (nodes []*ZooKeeperNode, err error) {
	classpath, err := zooKeeperClasspath()
	if err != nil {
		return nil, err
	}
	for range attempts {
		if nodes, err = s.ensemble(ctx, n, proxied, classpath); err == nil || !strings.Contains(err.Error(), "Address already in use") {
			return nodes, err
		}
	}
	return nil, err
}

func (s *Stack) ensemble(ctx context.Context, n int, proxied bool, classpath string) ([]*ZooKeeperNode, error) {
	addrs, err := freeAddrs(3 * n) // for clients, for the other servers, for elections
	if err != nil {
		return nil, err
	}
	e := &zooKeeperPeers{s, addrs[n : 2*n], addrs[2*n:], make([][]*Proxy, n)}
	var nodes []*ZooKeeperNode
	for i := range n {
		servers, err := e.servers(i, proxied)
		if err != nil {
			return nil, err
		}
		if proxied && i == n-1 {
			if err := e.await(ctx, nodes); err != nil {
				return nil, err
			}
		}
		node, err := s.zooKeeper(i+1, addrs[i], servers, classpath)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	for i, node := range nodes {
		node.links = e.links[i]
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, node := range nodes {
		group.Go(func() error { return node.serves(ctx) })
	}
	if err := group.Wait(); err != nil {
		for _, node := range nodes {
			node.Kill()
		}
		return nil, err
	}
	return nodes, nil
}

// zooKeeperPeers is at which addresses the servers of an ensemble reach each other.
type zooKeeperPeers struct {
	*Stack
	quorum, election []string
	links            [][]*Proxy // of each server
}

// servers are the lines that name the servers in the file of one of them. With proxies each file names others.
func (e *zooKeeperPeers) servers(of int, proxied bool) (string, error) {
	var lines strings.Builder
	for i := 0; len(e.quorum) > 1 && i < len(e.quorum); i++ {
		quorum, election := e.quorum[i], e.election[i]
		if proxied && i != of {
			var err error
			if quorum, election, err = e.link(of, i); err != nil {
				return "", err
			}
		}
		fmt.Fprintf(&lines, "server.%d=%s:%d\n", i+1, quorum, portOf(election))
	}
	return lines.String(), nil
}

// link is at which addresses one server reaches another one over proxies. Two servers keep one connection for elections. The one with the
// larger number opens it: asked by the other one, it connects back to an address that no proxy can change. So the other one's proxy leads
// nowhere.
func (e *zooKeeperPeers) link(from, to int) (quorum, election string, err error) {
	name := fmt.Sprintf("zookeeper-%d to %d", from+1, to+1)
	data, err := e.Proxy(name, e.quorum[to])
	if err != nil {
		return "", "", err
	}
	server := e.election[to]
	if from < to {
		server = ""
	}
	votes, err := e.Proxy(name+", elections", server)
	if err != nil {
		return "", "", err
	}
	for _, i := range []int{from, to} {
		e.links[i] = append(e.links[i], data, votes)
	}
	return data.Addr, votes.Addr, nil
}

// await waits until nodes are ready to elect a leader. The last one is started after that: a majority that has elected without one of them
// would not open a connection to it.
func (e *zooKeeperPeers) await(ctx context.Context, nodes []*ZooKeeperNode) error {
	for i, node := range nodes {
		err := await(ctx, node, func(ctx context.Context) error {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", e.election[i])
			if err == nil {
				conn.Close()
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// zooKeeper starts one server, and does not wait for it.
func (s *Stack) zooKeeper(id int, addr, servers, classpath string) (*ZooKeeperNode, error) {
	name := fmt.Sprintf("zookeeper-%d", id)
	dir, err := s.workdir(fmt.Sprintf("%s-%d", name, portOf(addr)))
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "zoo.cfg")
	err = errors.Join(
		os.WriteFile(conf, fmt.Appendf(nil, zooKeeperConf, dir, portOf(addr), servers), 0o600),
		os.WriteFile(filepath.Join(dir, "myid"), fmt.Append(nil, id), 0o600),
	)
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	node := &ZooKeeperNode{Name: name, Addr: addr, dir: dir}
	node.start = func() (*Process, error) {
		return s.start(command{name: name, argv: []string{
			"java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
			"-cp", classpath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", conf,
		}})
	}
	p, err := node.start()
	node.Server = p
	return node, err
}

// serves waits until the server accepts requests of clients: it is alone, or in an ensemble that has a leader.
func (n *ZooKeeperNode) serves(ctx context.Context) error {
	return await(ctx, n, func(ctx context.Context) error {
		_, err := n.Mode(ctx)
		return err
	})
}

// Mode is the part that the server has: standalone, leader or follower. One that accepts no requests of clients has none, and the
// error says why.
func (n *ZooKeeperNode) Mode(ctx context.Context) (string, error) {
	conf, err := n.command(ctx, "conf")
	if err == nil && !strings.Contains(conf, "dataDir="+n.dir) {
		return "", fmt.Errorf("stack: %s: another server answers at %s: %s", n.Name, n.Addr, strings.TrimSpace(conf))
	}
	text, err := n.command(ctx, "srvr")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if mode, found := strings.CutPrefix(line, "Mode: "); found {
			return strings.TrimSpace(mode), nil
		}
	}
	return "", fmt.Errorf("stack: %s: %s", n.Name, strings.TrimSpace(text)) // not currently serving requests
}

// command sends one of ZooKeeper's four-letter words.
func (n *ZooKeeperNode) command(ctx context.Context, word string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", n.Addr)
	if err != nil {
		return "", fmt.Errorf("stack: %s: %w", n.Name, err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	_, err = io.WriteString(conn, word)
	if err != nil {
		return "", fmt.Errorf("stack: %s: %w", n.Name, err)
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return "", fmt.Errorf("stack: %s: %w", n.Name, err)
	}
	return string(text), nil
}

// Restart kills the server, unless it has ended, and starts it again at its address, with its data. Its Server must not be used
// meanwhile. It returns when the server accepts requests: in an ensemble that needs a majority of the others.
func (n *ZooKeeperNode) Restart(ctx context.Context) (proof string, err error) {
	n.Kill()
	before, err := n.Ended()
	if err != nil {
		return "", err
	}
	p, err := n.start()
	if err != nil {
		return "", err
	}
	n.Server = p
	if err := n.serves(ctx); err != nil {
		return "", err
	}
	mode, err := n.Mode(ctx)
	return fmt.Sprintf("%s; process %d serves at %s as %s", before, p.PID(), n.Addr, mode), err
}

// ZooKeeperLeader waits until one of the nodes leads, and returns it.
func ZooKeeperLeader(ctx context.Context, nodes []*ZooKeeperNode) (leader *ZooKeeperNode, err error) {
	err = Until(ctx, func(ctx context.Context) error {
		for _, node := range nodes {
			if mode, err := node.Mode(ctx); err == nil && (mode == "leader" || mode == "standalone") {
				leader = node
				return nil
			}
		}
		return errors.New("stack: no ZooKeeper server leads")
	})
	return leader, err
}
