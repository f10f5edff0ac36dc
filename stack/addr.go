package stack

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
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
func atFreeAddr(start func(addr string) error) error {
	return whileTaken(func() error {
		addrs, err := FreeAddrs(1)
		if err == nil {
			err = start(addrs[0])
		}
		return err
	})
}

// Ports of servers are below those that the systems give to clients (from 32768 on Linux, from 49152 on macOS). Otherwise a server that is
// started again at its address could find a client there. No port of docker-compose.yml or of deploy/participant is among them.
const (
	firstPort = 27_000
	ports     = 3_000
)

// FreeAddrs returns n different addresses of the loopback interface at which no server listens at this moment.
func FreeAddrs(n int) (addrs []string, err error) {
	for tries := 0; len(addrs) < n; tries++ {
		l, failed := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.N(ports)))
		if failed == nil {
			defer l.Close() // when all are known, or one would be chosen twice
			addrs = append(addrs, l.Addr().String())
		} else if tries >= ports {
			return nil, fmt.Errorf("stack: no free port: %w", failed)
		}
	}
	return addrs, nil
}

func portOf(addr string) int {
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return n
}
