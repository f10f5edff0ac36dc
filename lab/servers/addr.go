package servers

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
	ports, err := allPorts.take(n)
	s.mu.Lock()
	s.ports = append(s.ports, ports...)
	s.mu.Unlock()
	for _, port := range ports {
		addrs = append(addrs, loopback(port))
	}
	return addrs, err
}

// Ports of servers are below those that the systems give to clients (from 32768 on Linux, from 49152 on macOS). Otherwise a server that is
// started again at its address could find a client there. No port of docker-compose.yml or of deploy/participant is among them.
var allPorts = portPool{first: 27_000, blocks: 100, size: 30}

// portPool is the ports of this process. Each is in a block that no other process has: to own a block is to listen at its first port, until
// the process ends.
type portPool struct {
	first, blocks, size int

	mu    sync.Mutex
	owned []net.Listener
	free  []int // taken from its beginning, given back at its end
}

// take returns n ports that nobody has and at which nobody listens, or an error.
func (p *portPool) take(n int) (ports []int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var inUse []int // by programs without a stack
	defer func() { p.free = append(p.free, inUse...) }()
	for len(ports) < n {
		if len(p.free) == 0 && !p.claim() {
			p.free = append(p.free, ports...)
			return nil, fmt.Errorf("no free port from %d to %d: end other labs", p.first, p.first+p.blocks*p.size-1)
		}
		port := p.free[0]
		p.free = p.free[1:]
		if l, err := net.Listen("tcp", loopback(port)); err == nil {
			l.Close()
			ports = append(ports, port)
		} else {
			inUse = append(inUse, port)
		}
	}
	return ports, nil
}

// claim makes one more block this process's. It reports false when there is none.
func (p *portPool) claim() bool {
	for _, block := range rand.Perm(p.blocks) {
		first := p.first + block*p.size
		l, err := net.Listen("tcp", loopback(first))
		if err != nil {
			continue
		}
		p.owned = append(p.owned, l)
		for port := first + 1; port < first+p.size; port++ {
			p.free = append(p.free, port)
		}
		return true
	}
	return false
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
