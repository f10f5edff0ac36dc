package topology_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"locklab/internal/faultproxy"
	"locklab/lab/testenv"
	"locklab/topology"
)

func TestAddrMapResolves(t *testing.T) {
	m, err := topology.ParseAddrMap([]string{"10.66.6.61:6401=127.0.0.1:9", "10.66.6.0/24=127.0.0.1", "redis-1=localhost", "fd00::/8=::1"})
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]string{
		"10.66.6.61:6401": "127.0.0.1:9", // the first rule that fits
		"10.66.6.61:6402": "127.0.0.1:6402",
		"10.66.7.61:6402": "10.66.7.61:6402",
		"redis-1:1":       "localhost:1",
		"redis-2:1":       "redis-2:1",
		"[fd00::1]:1":     "[::1]:1",
		"nonsense":        "nonsense",
	} {
		if got := m.Resolve(addr); got != want {
			t.Errorf("%s is dialed at %s, want %s", addr, got, want)
		}
	}
	for _, rule := range []string{"", "=", "a=", "=b", "10.0.0.0/99=127.0.0.1", "a=b:1", "10.0.0.0/8=127.0.0.1:1"} {
		if _, err := topology.ParseAddrMap([]string{rule}); err == nil {
			t.Errorf("%q is accepted", rule)
		}
	}
}

// The map also applies to the addresses that only a server announced to the client: the sentinels' master, the cluster's other
// nodes.
func TestEveryTopologyDialsThroughTheMap(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			started := shared(t, kind)
			cfg := config(started)
			var rules []string
			dialed := map[string]*atomic.Int64{}
			for _, node := range slices.Concat(started.Nodes, started.Sentinels) {
				addr, count := countingProxy(t, node.Addr)
				rules, dialed[node.Addr] = append(rules, node.Addr+"="+addr), count
			}
			var err error
			if cfg.Map, err = topology.ParseAddrMap(rules); err != nil {
				t.Fatal(err)
			}
			if kind == topology.Cluster { // the first one announces the others
				cfg.Addrs = cfg.Addrs[:1]
			}
			r := open(t, cfg)
			for i := range 100 { // keys all over a cluster
				if err := r.Master.Set(testenv.Context(t), fmt.Sprint(i), 1, 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			masters := started.Nodes[:1]
			if kind == topology.Cluster {
				masters = started.Nodes[:3]
			}
			for _, master := range masters {
				if dialed[master.Addr].Load() == 0 {
					t.Errorf("the master %s was not dialed through the map", master.Addr)
				}
			}
			byMap := func(sentinel string) bool { return dialed[sentinel].Load() > 0 }
			if kind == topology.Sentinel && !slices.ContainsFunc(cfg.Addrs, byMap) { // the client asks all of them, and takes the first answer
				t.Error("no sentinel was dialed through the map")
			}
		})
	}
}

// countingProxy passes connections on to another address and counts them.
func countingProxy(t *testing.T, to string) (addr string, count *atomic.Int64) {
	t.Helper()
	count = new(atomic.Int64)
	p := faultproxy.New(func(ctx context.Context) (net.Conn, error) {
		count.Add(1)
		return faultproxy.TCP(to)(ctx)
	})
	t.Cleanup(p.Close)
	addr, err := p.Listen()
	if err != nil {
		t.Fatal(err)
	}
	return addr, count
}
