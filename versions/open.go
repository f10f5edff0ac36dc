package versions

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/etcdlock"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/memcachelock"
	"locklab/lockstrategy/redislock"
	"locklab/lockstrategy/redlock"
	"locklab/lockstrategy/sqllock"
	"locklab/lockstrategy/zklock"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"gorm.io/gorm"
)

// Names of the strategies, as [Open] takes them.
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

// Backends has the clients and settings of strategies. A strategy needs only its own part.
type Backends struct {
	Redis     redis.UniversalClient   // for NameRedis
	Nodes     []redis.UniversalClient // for NameRedLock
	Database  *gorm.DB                // for NameDatabase
	Named     string                  // that database in errors; empty: its kind
	ZooKeeper []string                // host:port of the servers of one ensemble, for NameZooKeeper
	Etcd      *clientv3.Client        // for NameEtcd
	Memcached *memcache.Client        // for NameMemcached
	Expiry    time.Duration           // of a lease, unless it is renewed: 10 ms to 24 h; 0: DefaultLease
	Request   time.Duration           // longest wait for one answer, not for NameRedLock; 0: two seconds, or a third of a shorter lease
	// NodeTimeout is that wait for a node of NameRedLock; 0: DefaultNodeTimeout, or a third of a shorter lease
	NodeTimeout time.Duration
	HandOff     localqueue.HandOff // of the queue
}

// Use sets the part of one kind of server: its client, RedLock's nodes, or the addresses of ZooKeeper's servers.
func (b *Backends) Use(part any) error {
	switch part := part.(type) {
	case redis.UniversalClient:
		b.Redis = part
	case []redis.UniversalClient:
		b.Nodes = part
	case *gorm.DB:
		b.Database = part
	case []string:
		b.ZooKeeper = part
	case *clientv3.Client:
		b.Etcd = part
	case *memcache.Client:
		b.Memcached = part
	default:
		return fmt.Errorf("lock: no strategy is built on a %T", part)
	}
	return nil
}

// Opened is a strategy that is ready for use, with its resources. A call passes from Opened to its Queue, and then to Bare.
type Opened struct {
	lockstrategy.Strategy
	Bare  lockstrategy.Strategy       // without its queue
	Queue *localqueue.Queue           // nil: this strategy has no queue
	Admin *redislock.Lock             // looks at locks and frees them by force; nil: this strategy cannot
	Ping  func(context.Context) error // asks its servers; nil: ask the client that it was given
	Close func() error                // ends its goroutines and connections; not the clients it was given
	// Process begins the name of each owner on the server, so that experiments know whose lock is held. Empty: owners have no such names.
	Process string
}

// strategies are the ways to lock, by their names. A new one is one entry here.
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
	if z, ok := s.(*zklock.Lock); ok {
		opened.Ping = z.Ping
	}
	if named, ok := s.(interface{ Process() string }); ok {
		opened.Process = named.Process()
	}
	return opened, nil
}
