package servers

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// RedisServer is the program of Redis, and of its sentinels. Redis 6.0, of Ubuntu 22.04, refuses the lock's scripts.
var RedisServer = Program{Name: "redis-server", Debian: "redis-server", Homebrew: "redis", Oldest: "6.2"}

// RealRedis reports whether a redis-server is on the PATH that is new enough.
func RealRedis() bool { return RedisServer.Missing() == nil }

func startRedis(ctx context.Context, s *Stack, _ int, real bool) (Servers, error) {
	t, err := s.Topology(ctx, "single", real)
	if err != nil {
		return Servers{}, err
	}
	return redisServers(t.Nodes), nil
}

// RedLockNodes is how many independent nodes RedLock has. A4 takes five, and A2's text proposes five.
const RedLockNodes = 5

func startRedLock(ctx context.Context, s *Stack, _ int, real bool) (Servers, error) {
	nodes, err := s.RedLock(ctx, RedLockNodes, real)
	return redisServers(nodes), err
}

// startSentinels starts a master, its replicas and sentinels. Each node of Redis has a proxy, so that replication can be cut.
func startSentinels(ctx context.Context, s *Stack, _ int, real bool) (Servers, error) {
	return announcingServers(s.ProxiedTopology(ctx, "sentinel", real))
}

func startCluster(ctx context.Context, s *Stack, _ int, real bool) (Servers, error) {
	return announcingServers(s.Topology(ctx, "cluster", real))
}

func announcingServers(t *Topology, err error) (Servers, error) {
	if err != nil {
		return Servers{}, err
	}
	all := redisServers(t.Nodes)
	all.Addrs, all.Topology = t.Addrs, t
	return all, nil
}

func redisServers(nodes []*Node) Servers {
	all := serversOf(nodes...)
	all.Nodes = nodes
	return all
}

// Redis starts a Redis server with no data and no persistence. A real one is a redis-server with additional settings
// ("--name", "value", …). A sentinel that changes its role lets it write its file of settings, so it keeps the role when it starts
// again. The other one is miniredis in a process of its own, which ignores settings.
func (s *Stack) Redis(ctx context.Context, name string, real bool, settings ...string) (*Node, error) {
	if !real {
		return s.miniredis(ctx, name)
	}
	dir, err := s.workdir(name)
	if err != nil {
		return nil, err
	}
	conf, err := os.CreateTemp(dir, "redis-*.conf")
	if err != nil {
		return nil, err
	}
	defer conf.Close()
	n := &Node{Restartable: Restartable{Name: name}}
	n.ready, n.start = n.answers, func() (*Process, error) {
		argv := []string{
			"redis-server", conf.Name(), "--bind", "127.0.0.1", "--port", strconv.Itoa(portOf(n.Addr)), "--dir", dir,
			"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--repl-diskless-sync-delay", "0",
			"--repl-ping-replica-period", "1",
		}
		return s.start(command{name: name, argv: append(argv, settings...)})
	}
	return n, s.startAtFreeAddr(ctx, &n.Restartable)
}

// answers returns nil when the server answers with its process id. Another server may have taken the port, and answers as well.
func (n *Node) answers(ctx context.Context) (string, error) {
	answering, err := n.Number(ctx, "server", "process_id")
	if err == nil && answering != int64(n.PID()) {
		err = fmt.Errorf("another server answers at %s", n.Addr)
	}
	return "", err
}

// Engine names the program that serves as Redis, with its version if redis-server prints it.
func Engine(real bool) string {
	if !real {
		return "miniredis"
	}
	return RedisServer.WithVersion()
}

// Node is one Redis server.
type Node struct {
	Restartable
	Proxy *Proxy // before it, for clients and other servers; nil: none

	bus      *Proxy // before its port for the other nodes of a cluster; nil: none
	inside   string // host:port, as other containers reach it; empty: it runs in no container
	password string
}

// Server is what runs a node: a [Process], or a container.
type Server interface {
	String() string                   // its name
	Kill()                            // ends it without warning, as a crash does, and returns when it has ended
	Ended() (proof string, err error) // waits for its end, and returns what proves it
	Pause() error                     // stops it from running until Resume, and returns when it has stopped
	Resume()
	Done() <-chan struct{} // closed when it has ended; a container: when Kill was called

	lastOutput() string
}

// AnnouncedAddr is the address that clients and other servers are told: that of the proxy, if there is one.
func (n *Node) AnnouncedAddr() string {
	if n.Proxy != nil {
		return n.Proxy.Addr
	}
	return cmp.Or(n.inside, n.Addr)
}

// WithClient calls use with a client of the node itself, which does not pass the proxy.
func (n *Node) WithClient(use func(*redis.Client) error) error {
	client := newClient(n.Addr, n.password)
	defer client.Close()
	return use(client)
}

// newClient is for the stack's own requests to its nodes.
func newClient(addr, password string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Password: password, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
	})
}

// Info returns one field of what INFO answers.
func (n *Node) Info(ctx context.Context, section, name string) (value string, err error) {
	err = n.WithClient(func(c *redis.Client) error {
		text, err := c.Info(ctx, section).Result()
		if err == nil {
			value, err = infoField(text, name)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.Name, err)
	}
	return value, nil
}

// infoField finds the value of a field in what INFO answers.
func infoField(text, name string) (string, error) {
	_, after, found := strings.Cut(text, "\n"+name+":")
	if !found {
		return "", fmt.Errorf("INFO has no field %s", name)
	}
	value, _, _ := strings.Cut(after, "\r\n")
	return value, nil
}

// Number is Info for a field that is a number.
func (n *Node) Number(ctx context.Context, section, field string) (number int64, err error) {
	text, err := n.Info(ctx, section, field)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// Configure sets one of the node's parameters while it runs.
func (n *Node) Configure(ctx context.Context, name string, value any) error {
	return n.WithClient(func(c *redis.Client) error { return c.ConfigSet(ctx, name, fmt.Sprint(value)).Err() })
}

// listening is what a miniredis prints when it serves.
const listening = "miniredis listens"

// miniredis starts a Redis written in Go, as a process, and waits until it says that it listens.
func (s *Stack) miniredis(ctx context.Context, name string) (*Node, error) {
	n := &Node{Restartable: Restartable{Name: name}}
	n.start = func() (*Process, error) {
		return s.start(s.inRole(miniredisRole, command{name: name, env: []string{addrVariable + "=" + n.Addr}}))
	}
	n.ready = func(context.Context) (string, error) {
		return "", n.Server.(*Process).findOutput(func(line string) bool { return line == listening })
	}
	return n, s.startAtFreeAddr(ctx, &n.Restartable)
}

// serveMiniredis serves until SIGTERM, at the address in its environment. Keys expire by the real clock, which is read at each command,
// also inside a script, where a real server stops it. A clock that a ticker moves is behind on a busy machine. It ends a key early that
// was written meanwhile.
func serveMiniredis(out io.Writer) int {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(os.Getenv(addrVariable)); err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	defer server.Close()
	server.ClockTTL(true)
	fmt.Fprintln(out, listening)
	<-ended
	return 0
}
