package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// zooKeeperJars are the directories in which packages of ZooKeeper put its jar files: Debian, Homebrew on Apple silicon, on Intel.
var zooKeeperJars = []string{"/usr/share/java", "/opt/homebrew/opt/zookeeper/libexec", "/usr/local/opt/zookeeper/libexec"}

// ZooKeeperServer is java and the jar files of ZooKeeper.
var ZooKeeperServer = Program{Name: "zookeeper", Debian: "zookeeper", Homebrew: "zookeeper", find: func() error {
	_, err := zooKeeperClasspath()
	return err
}, version: zooKeeperVersion}

func startZooKeeper(ctx context.Context, s *Stack, n int, _ bool) (Servers, error) {
	nodes, err := s.ZooKeeper(ctx, n)
	return serversOf(nodes...), err
}

// zooKeeperClasspath finds the jar files. Debian's jar names the others that it needs. Homebrew's lies beside them.
func zooKeeperClasspath() (string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", fmt.Errorf("no java for ZooKeeper on the PATH")
	}
	for _, dir := range zooKeeperJars {
		if _, err := os.Stat(filepath.Join(dir, "zookeeper.jar")); err == nil {
			return filepath.Join(dir, "slf4j-simple.jar") + ":" + filepath.Join(dir, "zookeeper.jar"), nil
		}
		if jars, _ := filepath.Glob(filepath.Join(dir, "zookeeper-[0-9]*.jar")); len(jars) > 0 {
			return filepath.Join(dir, "*"), nil
		}
	}
	return "", fmt.Errorf("ZooKeeper's jar files are in none of %s", strings.Join(zooKeeperJars, ", "))
}

// zooKeeperVersion is in the name of a jar file.
func zooKeeperVersion() string {
	for _, dir := range zooKeeperJars {
		if jars, _ := filepath.Glob(filepath.Join(dir, "zookeeper-[0-9]*.jar")); len(jars) > 0 {
			return versionNumber.FindString(filepath.Base(jars[0]))
		}
	}
	return ""
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
	Restartable

	dir            string
	before, beyond []*Proxy // over which the others reach it, and it the others; none: directly
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
	if err := ZooKeeperServer.Missing(); err != nil {
		return nil, err
	}
	err = whileTaken(func() error {
		nodes, err = s.ensemble(ctx, n, proxied)
		return err
	})
	return nodes, err
}

func (s *Stack) ensemble(ctx context.Context, n int, proxied bool) (nodes []*ZooKeeperNode, err error) {
	e := new(zooKeeperPeers)
	if proxied {
		if e.links, err = s.linkZooKeepers(n); err != nil {
			return nil, err
		}
	}
	addrs, err := s.FreeAddrs(3 * n) // for clients, for the other servers, for elections
	if err != nil {
		return nil, err
	}
	e.quorum, e.election = addrs[n:2*n], addrs[2*n:]
	e.open()
	for i := range n {
		node, err := s.zooKeeper(i+1, addrs[i], e.servers(i))
		if err != nil {
			return nil, err
		}
		node.before, node.beyond = e.of(i)
		nodes = append(nodes, node)
	}
	return nodes, startAll(ctx, nodes, func(i int) error {
		if !proxied || i < n-1 {
			return nil
		}
		return e.await(ctx, nodes[:i])
	})
}

// zooKeeperPeers is at which addresses the servers of an ensemble reach each other.
type zooKeeperPeers struct {
	quorum, election []string
	links            map[[2]int]zooKeeperLink // from one server to another; none: directly
}

// zooKeeperLink is the proxies over which one server reaches another one.
type zooKeeperLink struct{ data, votes *Proxy }

// linkZooKeepers starts proxies for each pair of n servers. A new leader may not listen yet when a follower connects: refused, that would
// try again. A connection that is accepted and closed would let it begin another election, in which the new leader takes no part for
// initLimit. So the proxies wait.
func (s *Stack) linkZooKeepers(n int) (map[[2]int]zooKeeperLink, error) {
	links := make(map[[2]int]zooKeeperLink)
	for pair := range n * n {
		from, to := pair/n, pair%n
		if from == to {
			continue
		}
		name := fmt.Sprintf("zookeeper-%d to %d", from+1, to+1)
		data, err := s.proxy(&Proxy{Name: name, waits: 5 * time.Second}, "")
		if err != nil {
			return nil, err
		}
		votes, err := s.proxy(&Proxy{Name: name + ", elections", waits: 5 * time.Second}, "")
		if err != nil {
			return nil, err
		}
		links[[2]int{from, to}] = zooKeeperLink{data, votes}
	}
	return links, nil
}

// open lets the proxies lead to the servers. Two servers keep one connection for elections. The one with the larger number opens it: asked
// by the other one, it connects back to an address that no proxy can change. So the other one's proxy leads nowhere.
func (e *zooKeeperPeers) open() {
	for pair, link := range e.links {
		from, to := pair[0], pair[1]
		link.data.server.Store(e.quorum[to])
		if from > to {
			link.votes.server.Store(e.election[to])
		}
	}
}

// of are the proxies over which the others reach a server, and over which it reaches the others.
func (e *zooKeeperPeers) of(server int) (before, beyond []*Proxy) {
	for pair, link := range e.links {
		switch server {
		case pair[1]:
			before = append(before, link.data, link.votes)
		case pair[0]:
			beyond = append(beyond, link.data, link.votes)
		}
	}
	return before, beyond
}

// servers are the lines that name the servers in the file of one of them. With proxies each file names others.
func (e *zooKeeperPeers) servers(from int) string {
	var lines strings.Builder
	for i := 0; len(e.quorum) > 1 && i < len(e.quorum); i++ {
		quorum, election := e.quorum[i], e.election[i]
		if link, linked := e.links[[2]int{from, i}]; linked {
			quorum, election = link.data.Addr, link.votes.Addr
		}
		fmt.Fprintf(&lines, "server.%d=%s:%d\n", i+1, quorum, portOf(election))
	}
	return lines.String()
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

// zooKeeper prepares one server.
func (s *Stack) zooKeeper(id int, addr, servers string) (*ZooKeeperNode, error) {
	classpath, err := zooKeeperClasspath()
	if err != nil {
		return nil, err
	}
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
		return nil, err
	}
	node := &ZooKeeperNode{Restartable: Restartable{Name: name, Addr: addr}, dir: dir}
	node.ready, node.start = node.accepts, func() (*Process, error) {
		return s.start(command{name: name, argv: []string{
			"java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
			"-cp", classpath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", conf,
		}})
	}
	return node, nil
}

// accepts returns nil when the server accepts requests of clients: it is alone, or in an ensemble that has a leader.
func (n *ZooKeeperNode) accepts(ctx context.Context) (says string, err error) {
	mode, err := n.Mode(ctx)
	return " as " + mode, err
}

// Mode is the part that the server has: standalone, leader or follower. One that accepts no requests of clients has none, and the
// error says why.
func (n *ZooKeeperNode) Mode(ctx context.Context) (string, error) {
	conf, err := n.command(ctx, "conf")
	if err == nil && !strings.Contains(conf, "dataDir="+n.dir) {
		return "", fmt.Errorf("%s: another server answers at %s: %s", n.Name, n.Addr, strings.TrimSpace(conf))
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
	return "", fmt.Errorf("%s: %s", n.Name, strings.TrimSpace(text)) // not currently serving requests
}

// command sends one of ZooKeeper's four-letter words.
func (n *ZooKeeperNode) command(ctx context.Context, word string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", n.Addr)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.Name, err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	_, err = io.WriteString(conn, word)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.Name, err)
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.Name, err)
	}
	return string(text), nil
}

// LoseDisk kills the server and deletes its data. After a restart it has what the others of its ensemble have.
func (n *ZooKeeperNode) LoseDisk() error {
	n.Kill()
	return os.RemoveAll(filepath.Join(n.dir, "version-2"))
}

// CopyDisk copies the data. restore kills the server and gives it the copy. It has not what was written meanwhile after a restart.
func (n *ZooKeeperNode) CopyDisk() (restore func() error, err error) {
	data, older := filepath.Join(n.dir, "version-2"), filepath.Join(n.dir, "older")
	return func() error { return errors.Join(n.LoseDisk(), os.Rename(older, data)) }, os.CopyFS(older, os.DirFS(data))
}

// ZooKeeperLeader waits until one of the nodes leads, and returns it.
func ZooKeeperLeader(ctx context.Context, nodes []*ZooKeeperNode) (*ZooKeeperNode, error) {
	return awaitLeader(ctx, nodes)
}

func (n *ZooKeeperNode) leads(ctx context.Context) (bool, error) {
	mode, err := n.Mode(ctx)
	return mode == "leader" || mode == "standalone", err
}

// packetsOfZooKeeper asks the server at an address.
func packetsOfZooKeeper(ctx context.Context, addr string) (int64, error) {
	text, err := (&ZooKeeperNode{Restartable: Restartable{Addr: addr}}).command(ctx, "srvr")
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(text, "Received: ")
	count, _, _ := strings.Cut(after, "\n")
	return strconv.ParseInt(count, 10, 64)
}
