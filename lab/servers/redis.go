package servers

import (
	"context"
	"fmt"
	"os"
	"strconv"
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
		return nil, fmt.Errorf("stack: %w", err)
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
