package versions

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"gorm.io/gorm"

	"locklab/lockstrategy"
	"locklab/lockstrategy/etcdlock"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/memcachelock"
	"locklab/lockstrategy/redislock"
	"locklab/lockstrategy/redlock"
	"locklab/lockstrategy/sqllock"
	"locklab/lockstrategy/zklock"
)

// Names of the strategies, as [Open] takes them. One that needs a server has the name of its kind of server.
const (
	NameNone      = "none"      // no lock: v1
	NameProcess   = "process"   // a mutex in the process, which is the queue over no lock: v2
	NameRedis     = "redis"     // one Redis: v3
	NameRedLock   = "redlock"   // five independent nodes: v4
	NameDatabase  = "database"  // a row in a database: v5
	NameZooKeeper = "zookeeper" // an ensemble: v6
	NameEtcd      = "etcd"      // a cluster of etcd: v7
	NameMemcached = "memcached" // an item in Memcached: v8
)

// Backends has what strategies are built on, and their settings. A strategy needs only its own client.
type Backends struct {
	Redis     redis.UniversalClient   // for NameRedis
	Nodes     []redis.UniversalClient // for NameRedLock
	Database  *gorm.DB                // for NameDatabase
	Named     string                  // what errors call that database; its kind by default
	ZooKeeper []string                // host:port of the servers of one ensemble, for NameZooKeeper
	Etcd      *clientv3.Client        // for NameEtcd
	Memcached *memcache.Client        // for NameMemcached

	// Expiry and Request are those of [lockstrategy.Timing]. RedLock does not use Request.
	Expiry, Request time.Duration
	// NodeTimeout bounds the wait for one of RedLock's nodes. The default is redlock.DefaultNodeTimeout, or a third of a shorter lease.
	NodeTimeout time.Duration
	HandOff     localqueue.HandOff
}

// Use sets the client of one kind of server, as topology.Servers.Backend returns it. For ZooKeeper, that is the addresses.
func (b *Backends) Use(kind string, client any) error {
	var usable bool
	switch kind {
	case NameRedis:
		b.Redis, usable = client.(redis.UniversalClient)
	case NameRedLock:
		b.Nodes, usable = client.([]redis.UniversalClient)
	case NameDatabase:
		b.Database, usable = client.(*gorm.DB)
	case NameZooKeeper:
		b.ZooKeeper, usable = client.([]string)
	case NameEtcd:
		b.Etcd, usable = client.(*clientv3.Client)
	case NameMemcached:
		b.Memcached, usable = client.(*memcache.Client)
	}
	if !usable {
		return fmt.Errorf("lock: no strategy %q can be built on a %T", kind, client)
	}
	return nil
}

// Opened is a strategy that is ready for use, with its resources. A call passes from Opened to its Queue, and then to Bare.
type Opened struct {
	lockstrategy.Strategy
	Bare  lockstrategy.Strategy // the strategy without its queue
	Queue *localqueue.Queue     // nil for NameNone
	Close func() error          // ends goroutines and connections, but not the clients that Backends had

	// Admin looks at locks and frees them by force. It is nil for every strategy but NameRedis.
	Admin *redislock.Lock
	// Ping asks the servers of a strategy that has connections of its own, as NameZooKeeper has. It is nil for the others: ping the client.
	Ping func(context.Context) error
	// Process is how the name of each owner on the server begins, so that experiments know whose lock is held. It is empty for strategies
	// whose owners have no such names.
	Process string
}

// strategies are the ways to lock. A new one is an entry here and its name above. If its server is new, too, the server's client is a
// field of [Backends] and a case in [Backends.Use].
var strategies = []struct {
	name  string
	local bool // in the process: it needs no server
	open  func(Backends, lockstrategy.Timing) (lockstrategy.Strategy, error)
}{
	{NameNone, true, func(Backends, lockstrategy.Timing) (lockstrategy.Strategy, error) { return lockstrategy.None{}, nil }},
	{NameProcess, true, func(Backends, lockstrategy.Timing) (lockstrategy.Strategy, error) { return lockstrategy.None{}, nil }},
	{NameRedis, false, func(b Backends, t lockstrategy.Timing) (lockstrategy.Strategy, error) {
		return redislock.New(b.Redis, t)
	}},
	{NameRedLock, false, func(b Backends, t lockstrategy.Timing) (lockstrategy.Strategy, error) {
		t.Request = b.NodeTimeout
		return redlock.New(b.Nodes, t)
	}},
	{NameDatabase, false, func(b Backends, t lockstrategy.Timing) (lockstrategy.Strategy, error) {
		return sqllock.New(b.Database, b.Named, t)
	}},
	{NameZooKeeper, false, func(b Backends, t lockstrategy.Timing) (lockstrategy.Strategy, error) {
		return zklock.New(b.ZooKeeper, zklock.Config{Timing: t})
	}},
	{NameEtcd, false, func(b Backends, t lockstrategy.Timing) (lockstrategy.Strategy, error) { return etcdlock.New(b.Etcd, t) }},
	{NameMemcached, false, func(b Backends, t lockstrategy.Timing) (lockstrategy.Strategy, error) {
		return memcachelock.New(b.Memcached, t)
	}},
}

// Open builds the strategy called name, behind a queue where there is a lock. It connects to nothing; an error names a setting
// that cannot work.
func Open(name string, b Backends) (*Opened, error) {
	var names []string
	for _, known := range strategies {
		if known.name != name {
			names = append(names, known.name)
			continue
		}
		s, err := known.open(b, lockstrategy.Timing{Expiry: b.Expiry, Request: b.Request})
		if err != nil {
			return nil, err
		}
		if name == NameNone {
			return &Opened{Strategy: s, Bare: s, Close: func() error { return nil }}, nil
		}
		return Queued(s, b.HandOff)
	}
	return nil, fmt.Errorf("lock: no strategy %q: there are %s", name, strings.Join(names, ", "))
}

// Queued puts a queue in front of a strategy.
func Queued(s lockstrategy.Strategy, bounds localqueue.HandOff) (*Opened, error) {
	queue, err := localqueue.New(s, bounds)
	if err != nil {
		return nil, err
	}
	opened := &Opened{Strategy: queue, Bare: s, Queue: queue, Close: func() error {
		queue.Close()
		if closer, ok := s.(io.Closer); ok {
			return closer.Close()
		}
		return nil
	}}
	opened.Admin, _ = s.(*redislock.Lock)
	if own, ok := s.(interface{ Ping(context.Context) error }); ok {
		opened.Ping = own.Ping
	}
	if named, ok := s.(interface{ Process() string }); ok {
		opened.Process = named.Process()
	}
	return opened, nil
}
