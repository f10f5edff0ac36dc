package servers

import (
	"net"
	"slices"
	"strings"
	"testing"
)

// A server is killed and starts again at its address. Meanwhile nobody listens there, and no other stack may be given it, in this process
// or in another one, which has a pool of its own. A process that finds no port says so, keeps none of what it found, and goes on when ports
// are given back. Ports at which another program listens are left out.
func TestAPortBelongsToOneStack(t *testing.T) {
	first, other := unusedPorts(t), net.Listener(nil)
	pool, another := portPool{first: first, blocks: 3, size: 5}, portPool{first: first, blocks: 3, size: 5} // the first of each block owns it
	t.Cleanup(func() {
		for _, l := range append(pool.owned, another.owned...) {
			l.Close()
		}
	})
	theirs, err := another.take(4)
	if err != nil {
		t.Fatal(err)
	}
	some, err := pool.take(4)
	if err != nil {
		t.Fatal(err)
	}
	for port := first; other == nil; port++ { // of the block that is left
		if port%5 != first%5 && !slices.Contains(append(some, theirs...), port) {
			if other, err = net.Listen("tcp", loopback(port)); err != nil {
				t.Fatal(err)
			}
		}
	}
	defer other.Close()
	if got, err := pool.take(4); err == nil || !strings.Contains(err.Error(), "no free port") || taken(err) || len(got) > 0 {
		t.Errorf("got %v, %v; want the error that no port is free", got, err)
	}
	rest, err := pool.take(3)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Sorted(slices.Values(slices.Concat(theirs, some, rest)))
	inside := all[0] > first && all[10] < first+15
	if len(slices.Compact(slices.Clone(all))) != 11 || slices.Contains(all, portOf(other.Addr().String())) || !inside {
		t.Errorf("both have given out %v of the ports from %d, and %s is taken", all, first, other.Addr())
	}
	pool.giveBack(some)
	if again, err := pool.take(4); err != nil || !slices.Equal(slices.Sorted(slices.Values(again)), slices.Sorted(slices.Values(some))) {
		t.Errorf("%v were given back, and then there are %v, %v", some, again, err)
	}
}

// unusedPorts returns the first of fifteen ports that no other process of this test has: to own them is to listen at the sixteenth.
func unusedPorts(t *testing.T) (first int) {
	t.Helper()
	for first = 31_000; first < 32_000; first += 16 {
		if owner, err := net.Listen("tcp", loopback(first+15)); err == nil {
			t.Cleanup(func() { owner.Close() })
			return first
		}
	}
	t.Fatal("all ports are taken")
	return 0
}

// What a stack had is free when it has ended.
func TestAddressesAreGivenBack(t *testing.T) {
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := s.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, addr := range addrs {
		if !slices.Contains(allPorts.free, portOf(addr)) {
			t.Errorf("%s is not given back", addr)
		}
	}
}
