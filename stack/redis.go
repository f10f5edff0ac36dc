package stack

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
)

// RealRedis reports whether a redis-server is on the PATH.
func RealRedis() bool {
	_, err := exec.LookPath("redis-server")
	return err == nil
}

// Redis starts a Redis server with no data and no persistence. A real one is a redis-server with additional settings
// ("--name", "value", …). The other one is miniredis in a process of its own, which ignores them.
func (s *Stack) Redis(ctx context.Context, name string, real bool, settings ...string) (*Node, error) {
	if !real {
		return s.miniredis(ctx, name)
	}
	dir, err := s.workdir(name)
	if err != nil {
		return nil, err
	}
	return s.node(ctx, name, func(addr string) (*Process, error) {
		argv := []string{
			"redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(portOf(addr)), "--dir", dir,
			"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--repl-diskless-sync-delay", "0",
			"--repl-ping-replica-period", "1",
		}
		return s.start(command{name: name, argv: append(argv, settings...)})
	})
}

// node starts a real server at a free address and waits until it answers.
func (s *Stack) node(ctx context.Context, name string, start func(addr string) (*Process, error)) (*Node, error) {
	n := &Node{Name: name, start: start}
	err := atFreeAddr(func(addr string) error {
		p, err := start(addr)
		if err != nil {
			return err
		}
		n.Server, n.Addr = p, addr
		return n.answers(ctx, p.PID())
	})
	if err != nil {
		return nil, fmt.Errorf("stack: redis %s: %w", name, err)
	}
	return n, nil
}

// answers waits until a server answers with this process id. Another server may have taken the port, and answers as well.
func (n *Node) answers(ctx context.Context, pid int) error {
	return n.Await(ctx, func(ctx context.Context) error {
		answering, err := n.Number(ctx, "server", "process_id")
		if err == nil && answering != int64(pid) {
			err = fmt.Errorf("another server answers at %s", n.Addr)
		}
		return err
	})
}

// attempts is how often a server or a project is started: its port may be taken by the time it opens it.
const attempts = 5

// atFreeAddr calls start with another free address while the port is taken when the server opens it. redis-server cannot choose a free
// port itself.
func atFreeAddr(start func(addr string) error) error {
	for attempt := 1; ; attempt++ {
		addr, err := freeAddr()
		if err == nil {
			err = start(addr)
		}
		if err == nil || attempt == attempts || !strings.Contains(strings.ToLower(err.Error()), "address already in use") {
			return err
		}
	}
}

// freeAddr returns an address of the loopback interface at which no server listens at this moment.
func freeAddr() (string, error) {
	addrs, err := freeAddrs(1)
	if err != nil {
		return "", err
	}
	return addrs[0], nil
}

// freeAddrs returns n different ones.
func freeAddrs(n int) (addrs []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("stack: no free port: %w", err)
		}
		defer l.Close() // when all are known, or one would be chosen twice
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

func portOf(addr string) int {
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return n
}

// Engine names the program that serves as Redis, with its version if redis-server prints it.
func Engine(real bool) string {
	if !real {
		return "miniredis"
	}
	text, _ := exec.Command("redis-server", "--version").Output()
	for field := range strings.FieldsSeq(string(text)) { // Redis server v=7.0.15 sha=…
		if v, ok := strings.CutPrefix(field, "v="); ok {
			return "redis-server " + v
		}
	}
	return "redis-server"
}
