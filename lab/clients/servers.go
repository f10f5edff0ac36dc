package clients

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/servers"
	"locklab/lockstrategy"
	"locklab/lockstrategy/zklock"
	"locklab/topology"
	"locklab/versions"
)

// Servers keep the locks of one strategy.
type Servers struct {
	*lab.Trial
	Strategy string            // or a store of Redis with failover, as [Lock] takes it
	Addrs    []string          // as Lock has them
	Nodes    []*servers.Node   // of Redis
	Topology *servers.Topology // of Redis with failover; nil: no server replaces another one
}

// LeaseOf is as short as the servers of a strategy allow, and long enough for a holder on a busy machine to renew it.
func LeaseOf(strategy string) time.Duration {
	kind, _ := servers.KindNamed(strategy)
	return cmp.Or(kind.ShortestLease, ProcessLease)
}

// NeedsOf is what a variant needs to start the servers of a strategy.
func NeedsOf(strategy string) []lab.Need {
	if kind, known := servers.KindNamed(strategy); known && !kind.Embedded {
		return []lab.Need{lab.Need(kind.Program.Name)}
	}
	return nil
}

// Once are variants of one trial: nothing in them is left to chance, or their servers take seconds to start, or to free a key.
func Once(variants []lab.Variant) []lab.Variant {
	for i := range variants {
		variants[i].Trials = 1
	}
	return variants
}

// Slow are variants that a quick run leaves out: other locks than v3, over servers that take seconds to start.
func Slow(variants []lab.Variant) []lab.Variant {
	for i := range variants {
		variants[i].Slow = true
	}
	return variants
}

// Locks is a scenario with each lock that needs servers, one variant each: v3 is the first. None of them violates. Where servers take
// seconds to start, or to free a key, there is one trial.
func Locks(name string, scenario func(strategy string) lab.Scenario) (all []lab.Variant) {
	for _, v := range versions.All() {
		server := v.Server()
		if server == "" {
			continue
		}
		variant := lab.Variant{Name: name + ": " + v.Name, Strategy: v.Name, Needs: NeedsOf(server), Run: scenario(v.Strategy)}
		if server != versions.NameRedis && server != versions.NameRedLock {
			variant.Trials = 1
		}
		all = append(all, variant)
	}
	return all
}

// LocksOverProxies are those variants with a fault between a client and its servers. SQLite has no connection, so v5 needs MariaDB.
func LocksOverProxies(name string, scenario func(strategy string) lab.Scenario) []lab.Variant {
	all := Locks(name, scenario)
	for i := range all {
		all[i].Fault = true
		if all[i].Strategy == "v5" {
			all[i].Needs = []lab.Need{lab.MariaDB}
		}
	}
	return all
}

// StartLock starts the servers of a strategy: five nodes for RedLock, a topology for Redis with failover, and one server for any other.
func StartLock(ctx context.Context, t *lab.Trial, strategy string) *Servers {
	return startLock(ctx, t, strategy, 1)
}

// startLock starts size servers of etcd or ZooKeeper. --embedded is about Redis: the database is MariaDB where that is there.
func startLock(ctx context.Context, t *lab.Trial, strategy string, size int) *Servers {
	started, err := t.Stack.Start(ctx, strategy, size, t.Real || strategy == versions.NameDatabase)
	t.Must(err)
	s := &Servers{Trial: t, Strategy: strategy, Addrs: started.Addrs, Nodes: started.Nodes, Topology: started.Topology}
	if strategy == versions.NameZooKeeper {
		t.Must(s.warmUp(ctx))
	}
	return s
}

// ConnectStore opens connections to the servers of a store, and waits until they answer or ctx ends.
func ConnectStore(ctx context.Context, store string, addrs []string) (topology.Servers, error) {
	cfg := topology.Config{Kind: topology.Single, Addrs: addrs, SentinelMaster: servers.SentinelMaster}
	strategy := strategyOver(store)
	if strategy != store {
		cfg.Kind = topology.Kind(store)
	}
	return topology.Connect(ctx, strategy, cfg)
}

// strategyOver is the strategy of the lab's lock over a store: the Redis lock over Redis with failover, or the store's own.
func strategyOver(store string) string {
	if kind, _ := servers.KindNamed(store); kind.Announces {
		return versions.NameRedis
	}
	return store
}

// warmUp lets a server of ZooKeeper execute each request once: its first ones take longer than a short lease allows.
func (s *Servers) warmUp(ctx context.Context) error {
	timing := lockstrategy.Timing{Expiry: LongLease, Request: LongLease / 3}
	z, err := zklock.New(s.Addrs, zklock.Config{Timing: timing})
	if err != nil {
		return err
	}
	lease, err := z.Acquire(ctx, "first")
	if err == nil {
		err = lease.Release(ctx)
	}
	return errors.Join(err, z.Close())
}

// NewClient returns a client of the lock in the lab's process, with connections of its own. A request waits for its reply for timeout, or
// without one as long as the lease allows.
func (s *Servers) NewClient(ctx context.Context, name string, lease time.Duration, timeout ...time.Duration) *Client {
	request := min(s.Scaled(2*time.Second), ReplyTimeout(lease))
	if len(timeout) > 0 {
		request = timeout[0]
	}
	b, closeAll, err := Lock{Strategy: s.Strategy, Addrs: s.Addrs, Lease: lease, Request: request}.Connect(ctx)
	s.Must(err)
	s.Cleanup(closeAll)
	if b.Redis != nil {
		b.Redis = s.Tap(withTimeout(b.Redis, request))
	}
	for i, node := range b.Nodes {
		b.Nodes[i] = s.Tap(withTimeout(node, request))
	}
	return Open(s.Trial, name, s.Strategy, b)
}

var hostAndPort = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// OverProxies returns the same servers with a proxy before each. Clients of servers that announce their addresses would bypass a proxy, so
// there is none.
func (s *Servers) OverProxies() (near *Servers, wires []*servers.Proxy) {
	kind, _ := servers.KindNamed(s.Strategy)
	if kind.Announces {
		return s, nil
	}
	copied := *s
	copied.Addrs = nil
	for _, addr := range s.Addrs {
		w, err := s.Stack.Proxy("wire", hostAndPort.FindString(addr))
		s.Must(err)
		w.Control = kind.Control
		wires, copied.Addrs = append(wires, w), append(copied.Addrs, hostAndPort.ReplaceAllString(addr, w.Addr))
	}
	return &copied, wires
}

// withTimeout lets client wait for a reply as long as for a request. go-redis waits for two seconds otherwise.
func withTimeout(client redis.UniversalClient, request time.Duration) redis.UniversalClient {
	if single, ok := client.(*redis.Client); ok && request > 0 {
		return single.WithTimeout(request)
	}
	return client
}
