package kit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/worker"
	"locklab/lockstrategy"
	"locklab/stack"
	"locklab/stack/faultproxy"
	"locklab/topology"
)

// Servers keep the locks of one strategy.
type Servers struct {
	*experiments.Trial
	Strategy string
	Addrs    []string      // as worker.Lock has them
	Nodes    []*stack.Node // of Redis

	size int // of a cluster of etcd or ZooKeeper
}

// kept is how a trial starts the servers of a strategy.
type kept struct {
	needs []experiments.Need // of a variant
	// lease is as short as the servers allow, and long enough for a holder on a busy machine to renew it. etcd and Memcached round it up
	// to whole seconds, and ZooKeeper's lock ends after half a session.
	lease time.Duration
	start func(ctx context.Context, s *Servers) error
}

// servers has each strategy whose lock outlives a process.
var servers = map[string]kept{
	lockstrategy.NameRedis:     {nil, ProcessLease, startRedis},
	lockstrategy.NameRedLock:   {nil, ProcessLease, startRedLock},
	lockstrategy.NameDatabase:  {nil, ProcessLease, startDatabase},
	lockstrategy.NameZooKeeper: {[]experiments.Need{experiments.ZooKeeper}, time.Second, startZooKeeper},
	lockstrategy.NameEtcd: {[]experiments.Need{experiments.Etcd}, time.Second, func(ctx context.Context, s *Servers) error {
		cluster, err := s.Stack.Etcd(ctx, s.size)
		if err == nil {
			s.Addrs = cluster.Addrs()
		}
		return err
	}},
	lockstrategy.NameMemcached: {[]experiments.Need{experiments.Memcached}, time.Second, func(ctx context.Context, s *Servers) error {
		server, err := s.Stack.Memcached(ctx)
		if err == nil {
			s.Addrs = []string{server.Addr}
		}
		return err
	}},
}

// NeedsOf is what a variant needs to start the servers of a strategy.
func NeedsOf(strategy string) []experiments.Need { return servers[strategy].needs }

// OtherLocks is a scenario with the locks of v4 to v8, one variant each. None of them violates. Where servers take seconds to start, or to
// free a key, there is one trial.
func OtherLocks(name string, scenario func(strategy string) experiments.Scenario) (all []experiments.Variant) {
	for _, v := range []struct {
		version, strategy string
		trials            int
	}{
		{"v4", lockstrategy.NameRedLock, 0},
		{"v5", lockstrategy.NameDatabase, 1},
		{"v6", lockstrategy.NameZooKeeper, 1},
		{"v7", lockstrategy.NameEtcd, 1},
		{"v8", lockstrategy.NameMemcached, 1},
	} {
		all = append(all, experiments.Variant{
			Name: name + ": " + v.version, Strategy: v.version, Needs: NeedsOf(v.strategy), Trials: v.trials,
			Run: scenario(v.strategy),
		})
	}
	return all
}

// StartLock starts the servers of a strategy: five nodes for RedLock, and one server for any other.
func StartLock(ctx context.Context, t *experiments.Trial, strategy string) *Servers {
	return startLock(ctx, t, strategy, 1)
}

func startLock(ctx context.Context, t *experiments.Trial, strategy string, size int) *Servers {
	s := &Servers{Trial: t, Strategy: strategy, size: size}
	k, known := servers[strategy]
	if !known {
		t.Must(fmt.Errorf("no trial can start servers for the strategy %q", strategy))
	}
	t.Must(k.start(ctx, s))
	return s
}

func startRedis(ctx context.Context, s *Servers) error {
	started, err := s.Stack.Topology(ctx, string(topology.Single), s.Real)
	if err == nil {
		s.use(started.Nodes)
	}
	return err
}

func startRedLock(ctx context.Context, s *Servers) error {
	nodes, err := s.Stack.RedLock(ctx, 5, s.Real)
	s.use(nodes)
	return err
}

func (s *Servers) use(nodes []*stack.Node) {
	s.Nodes = nodes
	for _, n := range nodes {
		s.Addrs = append(s.Addrs, n.Addr)
	}
}

// startZooKeeper lets the server execute each request once: its first ones take longer than a short lease allows.
func startZooKeeper(ctx context.Context, s *Servers) error {
	nodes, err := s.Stack.ZooKeeper(ctx, s.size)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		s.Addrs = append(s.Addrs, n.Addr)
	}
	z, err := lockstrategy.NewZooKeeper(s.Addrs, lockstrategy.ZooKeeperConfig{Lease: LongLease, Request: LongLease / 3})
	if err != nil {
		return err
	}
	lease, err := z.Acquire(ctx, "first")
	if err == nil {
		err = lease.Release(ctx)
	}
	return errors.Join(err, z.Close())
}

// startDatabase starts MariaDB where it can. Otherwise the database is a file of SQLite.
func startDatabase(ctx context.Context, s *Servers) error {
	if stack.MissingMariaDB() != nil {
		s.Addrs = []string{"sqlite:" + filepath.Join(s.Stack.Dir(), "locks.db")}
		return nil
	}
	server, err := s.Stack.MariaDB(ctx)
	if err == nil {
		s.Addrs = []string{"mysql:" + server.DSN}
	}
	return err
}

// LongTimeout is that of a request: longer than servers keep the key of a short lease.
const LongTimeout = LongLease / 3

// NewClient returns a client of the lock in the lab's process, with connections of its own. A request waits for its reply for the
// strategy's own time, or for timeout.
func (s *Servers) NewClient(ctx context.Context, name string, lease time.Duration, timeout ...time.Duration) *Client {
	var request time.Duration
	if len(timeout) > 0 {
		request = timeout[0]
	}
	b, closeAll, err := worker.Lock{Strategy: s.Strategy, Addrs: s.Addrs, Lease: lease, Request: request}.Connect(ctx)
	s.Must(err)
	s.Cleanup(closeAll)
	if b.Redis != nil {
		b.Redis = s.Tap(waiting(b.Redis, request))
	}
	for i, node := range b.Nodes {
		b.Nodes[i] = s.Tap(waiting(node, request))
	}
	return Open(s.Trial, name, s.Strategy, b)
}

var hostAndPort = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// OverProxies returns the same servers with a proxy before each.
func (s *Servers) OverProxies() (near *Servers, wires []*stack.Proxy) {
	copied := *s
	copied.Addrs = nil
	for _, addr := range s.Addrs {
		w, err := s.Stack.Proxy("wire", hostAndPort.FindString(addr))
		s.Must(err)
		if s.Strategy == lockstrategy.NameEtcd {
			w.Control = faultproxy.HTTP2Control
		}
		wires, copied.Addrs = append(wires, w), append(copied.Addrs, hostAndPort.ReplaceAllString(addr, w.Addr))
	}
	return &copied, wires
}

// waiting lets client wait for a reply as long as for a request. go-redis waits for two seconds otherwise.
func waiting(client redis.UniversalClient, request time.Duration) redis.UniversalClient {
	if single, ok := client.(*redis.Client); ok && request > 0 {
		return single.WithTimeout(request)
	}
	return client
}
