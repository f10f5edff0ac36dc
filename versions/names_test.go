package versions_test

import (
	"fmt"
	"strings"
	"testing"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/topology"
	"locklab/versions"
)

// A server comes back at another address of the same name. Its client looks the name up when it dials.
func TestAServerComesBackAtAnotherAddress(t *testing.T) {
	t.Parallel()
	cases := map[string]string{} // the strategy of each
	for _, kind := range servers.KindNames() {
		cases[kind] = kind
	}
	delete(cases, versions.NameRedis)
	for _, kind := range topology.Kinds() {
		cases[string(kind)] = versions.NameRedis
	}
	if !testenv.Whole.Runs() { // one topology whose servers tell where the others are
		delete(cases, string(topology.Cluster))
		delete(cases, string(topology.MasterSlave))
	}
	for name, strategy := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testenv.Needs(t, testenv.Server(strategy))
			moved, cfg := movable(t, name, strategy)
			opened := testlocks.Must(topology.Connect(testenv.Context(t), strategy, cfg))(t)
			t.Cleanup(func() { _ = opened.Close() })
			var backends versions.Backends
			if err := backends.Use(strategy, opened.Backend()); err != nil {
				t.Fatal(err)
			}
			lock := testlocks.Must(versions.Open(strategy, backends))(t)
			t.Cleanup(func() { _ = lock.Close() })
			granted := func() bool {
				lease, err := lock.Acquire(testenv.Context(t), "k", lockstrategy.TryOnce())
				return err == nil && lease.Release(testenv.Context(t)) == nil
			}
			testenv.Eventually(t, "the lock is granted by the server at its first address", granted)
			for _, m := range moved {
				if err := m.Move(); err != nil {
					testenv.Skip(t, err.Error())
				}
			}
			testenv.Eventually(t, "the lock is granted by the server at its new address", granted)
		})
	}
}

// movable starts servers that have names, and says how to reach them.
func movable(t *testing.T, name, strategy string) (moved []*testenv.Moved, cfg topology.Config) {
	t.Helper()
	var addrs []string // of all
	if strategy == versions.NameRedis {
		started := testenv.Topology(t, name)
		cfg.Kind, cfg.Addrs, cfg.SentinelMaster = topology.Kind(name), started.Addrs, servers.SentinelMaster
		addrs = append(servers.Addrs(started.Nodes), servers.Addrs(started.Sentinels)...)
	} else {
		cfg.Addrs = testlocks.Must(testenv.Stack(t).Start(testenv.Context(t), strategy, 1, true))(t).Addrs
		addrs = cfg.Addrs
	}
	named := strings.Join(cfg.Addrs, " ")
	var announced []string
	for i, addr := range addrs {
		if _, after, isURL := strings.Cut(addr, "tcp("); isURL {
			addr, _, _ = strings.Cut(after, ")")
		}
		m := testenv.Named(t, fmt.Sprintf("%s-%d", name, i), addr)
		moved, announced = append(moved, m), append(announced, addr+"="+m.Addr())
		named = strings.ReplaceAll(named, addr, m.Addr())
	}
	cfg.Addrs = strings.Fields(named)
	cfg.Map = testlocks.Must(topology.ParseAddrMap(announced))(t)
	return moved, cfg
}
