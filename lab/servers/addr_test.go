//go:build unix

package servers_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

const manyAddrs = 150 // two random choices of so many ports share some

// addrsRole prints addresses of its process, and keeps them until its input ends.
var addrsRole = servers.Role("addresses of a test", func(in io.Reader, out io.Writer) int {
	s, err := servers.New()
	if err != nil {
		return 1
	}
	defer s.Close()
	addrs, err := s.FreeAddrs(manyAddrs)
	fmt.Fprintln(out, strings.Join(addrs, " "), err)
	_, _ = io.Copy(io.Discard, in)
	return 0
})

func freeAddrs(t *testing.T, s *servers.Stack) []string {
	t.Helper()
	addrs, err := s.FreeAddrs(manyAddrs)
	if err != nil {
		t.Fatal(err)
	}
	return addrs
}

// A server is killed and starts again at its address. Meanwhile nobody listens there, and no other stack may be given it.
func TestAnAddressBelongsToOneStack(t *testing.T) {
	other, err := testenv.Stack(t).Dialogue(addrsRole, "another process")
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(other.Out).ReadString('\n')
	if err != nil || !strings.HasSuffix(line, " <nil>\n") {
		t.Fatalf("%q, %v", line, err)
	}
	stackOf := make(map[string]string)
	belong := func(name string, addrs []string) {
		for _, addr := range addrs {
			if stackOf[addr] != "" {
				t.Errorf("%s is given to %s and to %s", addr, stackOf[addr], name)
			}
			stackOf[addr] = name
		}
	}
	belong("another process", strings.Fields(strings.TrimSuffix(line, " <nil>\n")))
	belong("one stack", freeAddrs(t, testenv.Stack(t)))
	belong("another stack", freeAddrs(t, testenv.Stack(t)))
}

// There are fewer than 3000.
func TestAddressesAreGivenBack(t *testing.T) {
	for range 21 {
		s, err := servers.New()
		if err != nil {
			t.Fatal(err)
		}
		freeAddrs(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A program that is not ours may have taken the address. It must not pass for the server that was started.
func TestAnotherServerAtTheAddress(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) *servers.Restartable{
		"redis-server": func(t *testing.T) *servers.Restartable {
			testenv.Needs(t, testenv.RedisServer)
			return &testenv.Redis(t, true).Restartable
		},
		"etcd": func(t *testing.T) *servers.Restartable {
			testenv.Needs(t, testenv.Etcd)
			e, err := testenv.Stack(t).Etcd(testenv.Context(t), 1)
			if err != nil {
				t.Fatal(err)
			}
			return &e.Members[0].Restartable
		},
		"memcached": func(t *testing.T) *servers.Restartable { return &startMemcached(t).Restartable },
		"mariadb":   func(t *testing.T) *servers.Restartable { _, d := mariaDB(t); return &d.Restartable },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := start(t), start(t)
			ours.Addr = theirs.Addr
			if proof, err := ours.Restart(testenv.Context(t)); err == nil || !strings.Contains(strings.ToLower(err.Error()), "in use") {
				t.Errorf("it has started: %q, %v", proof, err)
			}
		})
	}
}
