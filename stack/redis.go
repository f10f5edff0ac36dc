package stack

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// tries is how many ports are tried before giving up: one that was free may be taken meanwhile, and
// redis-server cannot be told to take any that is free.
const tries = 5

// Node is one Redis server.
type Node struct {
	Server        // what runs it now: Restart changes it
	Name   string // in the stack
	Addr   string // host:port, as this machine reaches it
	Proxy  *Proxy // before it, for clients and other servers; nil: there is none

	inside   string // host:port, as other containers reach it; empty: it runs in none
	password string
	start    func(addr string) (*Process, error) // again; nil: it cannot be
}

// Server is what a node runs in: a [Process], or a container.
type Server interface {
	String() string                   // its name
	Kill()                            // ends it at once, as a crash does, and returns when it has ended
	Ended() (proof string, err error) // waits for its end, and says what was seen of it
	Pause() error                     // stops it from running until Resume, and returns when it has stopped
	Resume()
	Done() <-chan struct{} // closed when it has ended; a container: when it was killed by Kill

	tail() string // of what it printed
}

// AnnouncedAddr is the address that clients and other servers are told.
func (n *Node) AnnouncedAddr() string {
	if n.Proxy != nil {
		return n.Proxy.Addr
	}
	return cmp.Or(n.inside, n.Addr)
}

// RealRedis reports whether a redis-server is on the PATH.
func RealRedis() bool {
	_, err := exec.LookPath("redis-server")
	return err == nil
}

// Redis starts a Redis server with no data and no persistence: a real redis-server with settings in
// addition ("--name", "value", …), or, where real is false, miniredis in a process of its own, which
// has no settings.
func (s *Stack) Redis(ctx context.Context, name string, real bool, settings ...string) (*Node, error) {
	if !real {
		return s.miniredis(ctx, name)
	}
	dir, err := s.workdir(name)
	if err != nil {
		return nil, err
	}
	return s.node(ctx, name, func(addr string) (*Process, error) {
		_, port, _ := net.SplitHostPort(addr)
		argv := []string{
			"redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", dir,
			"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--repl-diskless-sync-delay", "0",
			"--repl-ping-replica-period", "1",
		}
		return s.start(name, os.Environ(), append(argv, settings...)...)
	})
}

// node starts a real server at a free address and waits until it answers.
func (s *Stack) node(ctx context.Context, name string, start func(addr string) (*Process, error)) (*Node, error) {
	for try := 1; ; try++ {
		addr, err := freeAddr()
		if err != nil {
			return nil, err
		}
		p, err := start(addr)
		if err == nil {
			err = answers(ctx, p, addr)
		}
		if err == nil {
			return &Node{Server: p, Name: name, Addr: addr, start: start}, nil
		}
		if try == tries || !strings.Contains(strings.ToLower(err.Error()), "address already in use") {
			return nil, fmt.Errorf("stack: redis %s: %w", name, err)
		}
	}
}

// answers waits until a server listens at addr, and then until it says that it is this process: one
// that was faster may have taken the port, and answers as well.
func answers(ctx context.Context, p *Process, addr string) error {
	err := await(ctx, p, func(ctx context.Context) error {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			err = connection.Close()
		}
		return err
	})
	if err != nil {
		return err
	}
	client := newClient(addr, "")
	defer client.Close()
	return await(ctx, p, func(ctx context.Context) error {
		info, err := client.Info(ctx, "server").Result()
		if err == nil && !strings.Contains(info, fmt.Sprintf("\r\nprocess_id:%d\r\n", p.PID())) {
			err = fmt.Errorf("another server answers at %s", addr)
		}
		return err
	})
}

// newClient is for the stack's own questions to its nodes.
func newClient(addr, password string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, Password: password, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true})
}

// freeAddr returns an address on the loopback that nobody listens on at this moment.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("stack: no free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func portOf(addr string) int {
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return n
}

// Engine names what serves as Redis, with its version where it can be asked.
func Engine(real bool) string {
	if !real {
		return "miniredis"
	}
	text, err := exec.Command("redis-server", "--version").Output()
	if err != nil {
		return "redis-server"
	}
	fields := strings.Fields(string(text)) // Redis server v=7.0.15 sha=…
	for _, f := range fields {
		if v, ok := strings.CutPrefix(f, "v="); ok {
			return "redis-server " + v
		}
	}
	return "redis-server"
}
