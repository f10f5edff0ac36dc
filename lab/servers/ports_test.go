package servers

import (
	"net"
	"slices"
	"strings"
	"testing"
)

// A process that finds no port says so, keeps none of what it found, and goes on when ports are given back. Ports at which another program
// listens are left out.
func TestPortsThatAreExhausted(t *testing.T) {
	pool := portPool{first: 31_900, blocks: 2, size: 5} // two of them are first ones
	t.Cleanup(func() {
		for _, l := range pool.owned {
			l.Close()
		}
	})
	other, err := net.Listen("tcp", loopback(31_907))
	if err != nil {
		t.Skip(err) // another program has it
	}
	defer other.Close()
	some, err := pool.take(4)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := pool.take(4); err == nil || !strings.Contains(err.Error(), "31900 to 31909") || taken(err) || len(got) > 0 {
		t.Errorf("got %v, %v; want the error that no port is free", got, err)
	}
	rest, err := pool.take(3)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Sorted(slices.Values(append(some, rest...)))
	if want := []int{31_901, 31_902, 31_903, 31_904, 31_906, 31_908, 31_909}; !slices.Equal(all, want) {
		t.Errorf("it has given out %v, want %v", all, want)
	}
	pool.giveBack(some)
	if again, err := pool.take(4); err != nil || !slices.Equal(slices.Sorted(slices.Values(again)), slices.Sorted(slices.Values(some))) {
		t.Errorf("%v were given back, and then there are %v, %v", some, again, err)
	}
}
