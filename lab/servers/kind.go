package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/internal/faultproxy"
)

// Kind is a kind of server that keeps locks. This table is what the lab, the tests and `app serve` know of it, besides
// its files here and in package topology; docs/contributing/changes.md lists the other places.
type Kind struct {
	Name     string // of the strategy that is built on it, of the flag with its addresses (--etcd, LAB_ETCD), and in `app lab try`
	Title    string // "etcd", in tables
	Flag     string // what that flag takes, for `app serve --help`; empty: cmd/app/serve.go has that flag
	Program  Program
	Embedded bool // where the program is missing, something in Go takes its place
	// Announces says that clients connect to the addresses that its servers announce: a proxy before those would be bypassed.
	Announces bool

	// ShortestLease is the shortest that a holder on a busy machine keeps by renewal; 0: any.
	ShortestLease time.Duration
	// Control is that of the proxies before its servers: [faultproxy.Proxy.Control].
	Control func(faultproxy.Chunk) bool

	// start starts servers and waits until they serve. n is that of [Stack.Start].
	start func(ctx context.Context, s *Stack, n int, real bool) (Servers, error)
	// Requests asks a server how many requests it has had so far, with those that ask. nil: ask Redis itself.
	Requests func(ctx context.Context, addr string) (int64, error)
}

var kinds = []Kind{
	{Name: "redis", Title: "Redis", Program: RedisServer, Embedded: true, Control: faultproxy.RedisPing, start: startRedis},
	{Name: "redlock", Title: "RedLock", Program: RedisServer, Embedded: true, Control: faultproxy.RedisPing, start: startRedLock},
	{
		Name: "database", Title: "MariaDB", Program: MariaDBServer, Embedded: true,
		start: startDatabase, Requests: questionsOfMariaDB,
	},
	{
		Name: "zookeeper", Title: "ZooKeeper", Program: ZooKeeperServer, Flag: "Addresses of the servers of a ZooKeeper ensemble.",
		ShortestLease: time.Second, // the lock's lease ends after half a session
		start:         startZooKeeper, Requests: packetsOfZooKeeper,
	},
	{
		Name: "etcd", Title: "etcd", Program: EtcdServer, Flag: "Client addresses of the etcd servers: one, or all of a cluster.",
		ShortestLease: time.Second, // it rounds up to whole seconds
		Control:       faultproxy.HTTP2Control,
		start:         startEtcd, Requests: messagesOfEtcd,
	},
	{
		Name: "memcached", Title: "Memcached", Program: MemcachedServer,
		Flag:          "Addresses of the Memcached servers, the same for every instance.",
		ShortestLease: time.Second, // it rounds up to whole seconds
		start:         startMemcached, Requests: commandsOfMemcached,
	},
}

// announcing are the stores of `app lab try` besides the kinds: Redis with failover. `app serve` has them as topologies of --redis, so they
// have no flag and no variable of their own.
var announcing = []Kind{
	{Name: "sentinel", Title: "Redis with Sentinel", Program: RedisServer, Announces: true, start: startSentinels},
	{Name: "cluster", Title: "Redis Cluster", Program: RedisServer, Announces: true, start: startCluster},
}

// Kinds returns all kinds of servers that keep locks.
func Kinds() []Kind { return slices.Clone(kinds) }

// Backends are the kinds whose flags have addresses and nothing else. `app serve --no-backends` ignores them, and containers start them
// with BACKENDS=1.
func Backends() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return k.Flag == "" })
}

// Variable is the variable of app serve with the addresses.
func (k Kind) Variable() string { return "LAB_" + strings.ToUpper(k.Name) }

// KindNames are the names of all kinds.
func KindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// StoreNames are the names of the stores over which `app lab try` tries a lock: all kinds, and Redis with failover.
func StoreNames() []string {
	names := KindNames()
	for _, k := range announcing {
		names = append(names, k.Name)
	}
	return names
}

// KindNamed returns the kind of that name, or the store of [StoreNames]. It reports false when there is none: a strategy may need no
// server.
func KindNamed(name string) (Kind, bool) {
	all := slices.Concat(kinds, announcing)
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

// Missing says which program is not on this machine to start servers of a kind, and its packages; nil: they can be started.
func Missing(kind string) error {
	if k, known := KindNamed(kind); known && !k.Embedded {
		return k.Program.Missing()
	}
	return nil
}

// Servers are those of one kind that were started.
type Servers struct {
	Kind  Kind
	Addrs []string       // as the flag of app serve has them
	Each  []*Restartable // none: a file of SQLite
	Nodes []*Node        // of Redis

	Topology *Topology // of Redis with failover; nil: no server replaces another one
}

// Start starts the servers of a kind, and waits until they serve. n is how many servers of ZooKeeper or etcd: 1, or 3 that elect a leader.
// real is about Redis and the database: otherwise they are miniredis and a file of SQLite.
func (s *Stack) Start(ctx context.Context, kind string, n int, real bool) (Servers, error) {
	k, known := KindNamed(kind)
	if !known {
		return Servers{}, fmt.Errorf("there is no kind of server %q", kind)
	}
	started, err := k.start(ctx, s, n, real)
	started.Kind = k
	return started, err
}

// ServerName is what Start starts as a kind, with its version if that is known: "etcd 3.4.23".
func ServerName(kind string, real bool) string {
	k, _ := KindNamed(kind)
	switch {
	case k.Program.Name == RedisServer.Name:
		return Engine(real)
	case k.Embedded && (!real || k.Program.Missing() != nil):
		return "SQLite"
	default:
		return k.Program.WithVersion()
	}
}

// serversOf are servers that were started.
func serversOf[S interface{ restartable() *Restartable }](started ...S) Servers {
	all := Servers{Addrs: Addrs(started)}
	for _, s := range started {
		all.Each = append(all.Each, s.restartable())
	}
	return all
}

// Addrs are the addresses of servers, for clients.
func Addrs[S interface{ restartable() *Restartable }](servers []S) (addrs []string) {
	for _, s := range servers {
		addrs = append(addrs, s.restartable().Addr)
	}
	return addrs
}

func (r *Restartable) restartable() *Restartable { return r }
