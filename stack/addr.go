package stack

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// attempts is how often servers are started: another program may have taken their ports by the time they open them.
const attempts = 5

// whileTaken calls start, which chooses free addresses, again while another program has taken them.
func whileTaken(start func() error) error {
	for attempt := 1; ; attempt++ {
		if err := start(); err == nil || attempt == attempts || !taken(err) {
			return err
		}
	}
}

// taken reports whether another program uses a port, or the network of containers. ZooKeeper has tried to listen several times then.
func taken(err error) bool {
	said := strings.ToLower(err.Error())
	return slices.ContainsFunc([]string{"already in use", "already allocated", "overlap", "leaving listener thread"}, func(text string) bool {
		return strings.Contains(said, text)
	})
}

// atFreeAddr calls start with another free address while that is taken. redis-server cannot choose a free port itself.
func (s *Stack) atFreeAddr(start func(addr string) error) error {
	return whileTaken(func() error {
		addrs, err := s.FreeAddrs(1)
		if err == nil {
			err = start(addrs[0])
		}
		return err
	})
}

// FreeAddrs returns n different addresses of the loopback interface at which no server listens now. They belong to s until
// Close: no other stack, in any process, is given them, not even while the server there restarts. Other programs may take one.
func (s *Stack) FreeAddrs(n int) (addrs []string, err error) {
	numbers, err := allPorts.take(n)
	s.mu.Lock()
	s.ports = append(s.ports, numbers...)
	s.mu.Unlock()
	for _, port := range numbers {
		addrs = append(addrs, loopback(port))
	}
	return addrs, err
}

// Ports of servers are below those that the systems give to clients (from 32768 on Linux, from 49152 on macOS). Otherwise a server that is
// started again at its address could find a client there. No port of docker-compose.yml or of deploy/participant is among them.
const (
	firstPort = 27_000
	blocks    = 60
	blockSize = 50 // one process needs several blocks for many stacks
)

// portPool is the ports of this process. Each is in a block that no other process has: to own a block is to listen at its first port.
type portPool struct {
	mu    sync.Mutex
	owned []net.Listener
	free  []int // the one that was given back last is the last
}

var allPorts portPool

// take returns n ports that nobody has and at which nobody listens.
func (p *portPool) take(n int) (taken []int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var inUse []int // by programs without a stack
	defer func() { p.free = append(p.free, inUse...) }()
	for len(taken) < n {
		if len(p.free) == 0 {
			if err := p.claim(); err != nil {
				return taken, err
			}
		}
		port := p.free[0]
		p.free = p.free[1:]
		if l, err := net.Listen("tcp", loopback(port)); err == nil {
			l.Close()
			taken = append(taken, port)
		} else {
			inUse = append(inUse, port)
		}
	}
	return taken, nil
}

// claim makes one more block this process's, until it ends.
func (p *portPool) claim() error {
	var failed error
	for _, block := range rand.Perm(blocks) {
		first := firstPort + block*blockSize
		l, err := net.Listen("tcp", loopback(first))
		if err != nil {
			failed = err
			continue
		}
		p.owned = append(p.owned, l)
		for port := first + 1; port < first+blockSize; port++ {
			p.free = append(p.free, port)
		}
		return nil
	}
	return fmt.Errorf("stack: no free port from %d to %d: %w", firstPort, firstPort+blocks*blockSize-1, failed)
}

// giveBack lets other stacks of this process have the ports.
func (p *portPool) giveBack(ports []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, ports...)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func portOf(addr string) int {
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return n
}
