package topology_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/topology"
)

func etcd(t *testing.T, settings ...string) *servers.Etcd {
	t.Helper()
	testenv.Needs(t, testenv.Etcd)
	e, err := testenv.Stack(t).Etcd(testenv.Context(t), 1, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func openEtcd(t *testing.T, addrs []string, options ...grpc.DialOption) *topology.Etcd {
	t.Helper()
	e, err := topology.OpenEtcd(testenv.Context(t), addrs, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// The client dials a server that is away again and again, with short pauses: so it is back soon after its return. gRPC's own pauses grow,
// and so many dials would take it minutes.
func TestEtcdIsBackSoonAfterItsReturn(t *testing.T) {
	t.Parallel()
	servers := etcd(t)
	var dials atomic.Int64
	dialer := grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	})
	e := openEtcd(t, servers.Addrs(), dialer)
	m := servers.Members[0]
	m.Kill()
	before := dials.Load()
	testenv.Eventually(t, "the client has dialled it twelve times", func() bool { return dials.Load() >= before+12 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	if err := e.Ping(ctx); err == nil {
		t.Error("a server that was killed answers")
	}
	cancel()
	if _, err := m.Restart(testenv.Context(t)); err != nil {
		t.Fatal(err)
	}
	if err := e.Ping(testenv.Context(t)); err != nil {
		t.Errorf("it is back, and the client says %v", err)
	}
}

func TestAnErrorOfEtcdNamesTheAddress(t *testing.T) {
	t.Parallel()
	for addr, says := range map[string]string{
		"": "not reached in time", "127.0.0.1:1": "not reached in time",
		"http://127.0.0.1:2379": "it is host:port", "127.0.0.1": "it is host:port", "127.0.0.1:2379/v3": "it is host:port",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err := topology.OpenEtcd(ctx, strings.Fields(addr))
		cancel()
		if err == nil || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", addr, err)
		}
	}
}
