package stack

import (
	"fmt"
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
		addrs, err := freeAddrs(1)
		if err == nil {
			err = start(addrs[0])
		}
		return err
	})
}

// freeAddrs returns n different addresses of the loopback interface at which no server listens at this moment.
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
