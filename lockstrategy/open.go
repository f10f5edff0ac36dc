package lockstrategy

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"gorm.io/gorm"
)

// Names of the strategies, as [Open] takes them.
const (
	NameNone      = "none"      // no lock: v1
	NameProcess   = "process"   // a mutex in the process: v2
	NameRedis     = "redis"     // one Redis: v3
	NameRedLock   = "redlock"   // five independent nodes: v4
	NameDatabase  = "database"  // a row in a database: v5
	NameZooKeeper = "zookeeper" // an ensemble: v6
	NameEtcd      = "etcd"      // a cluster of etcd: v7
	NameMemcached = "memcached" // an item in Memcached: v8
)

var names = []string{NameNone, NameProcess, NameRedis, NameRedLock, NameDatabase, NameZooKeeper, NameEtcd, NameMemcached}

// DefaultLease is the time after which the server frees a key unless its lease is renewed, as in Redisson (A2).
const DefaultLease = 30 * time.Second

// shortestLease leaves room for a renewal on a machine that is busy.
const shortestLease = 10 * time.Millisecond

// Backends is what strategies are built on. A strategy needs only its own part.
type Backends struct {
	Redis     redis.UniversalClient   // for NameRedis
	Nodes     []redis.UniversalClient // for NameRedLock
	Database  *gorm.DB                // for NameDatabase
	Named     string                  // that database in errors; empty: its kind
	ZooKeeper []string                // host:port of the servers of one ensemble, for NameZooKeeper
	Etcd      *clientv3.Client        // for NameEtcd
	Memcached *memcache.Client        // for NameMemcached
	Lease     time.Duration           // 0: DefaultLease
	Request   time.Duration           // longest wait for one answer of a server; 0: two seconds, or a third of a shorter lease
	HandOff   HandOff                 // of the cohort
}

// Opened is a strategy ready for use, and what it holds open.
type Opened struct {
	Strategy
	Cohort *Cohort      // nil: this strategy has no queue
	Admin  Admin        // nil: its locks cannot be inspected
	Close  func() error // ends its goroutines and connections; not the clients it was given
}

// Open builds the strategy called name, behind a cohort where there is a lock. It connects to nothing; an error names a setting
// that cannot work.
func Open(name string, b Backends) (*Opened, error) {
	timing := Timing{b.Lease, b.Request}
	switch name {
	case NameNone:
		return &Opened{Strategy: None{}, Close: func() error { return nil }}, nil
	case NameProcess:
		return withCohort(None{}, func() error { return nil }, nil, b.HandOff)
	case NameRedis:
		r, err := NewRedis(b.Redis, timing)
		opened, err := withCohort(r, r.Close, err, b.HandOff)
		if err == nil {
			opened.Admin = r
		}
		return opened, err
	case NameRedLock:
		r, err := NewRedLock(b.Nodes, timing)
		return withCohort(r, r.Close, err, b.HandOff)
	case NameDatabase:
		d, err := NewDatabase(b.Database, DatabaseConfig{Name: b.Named, Timing: timing})
		return withCohort(d, d.Close, err, b.HandOff)
	case NameZooKeeper:
		z, err := NewZooKeeper(b.ZooKeeper, ZooKeeperConfig{Lease: b.Lease, Request: b.Request})
		return withCohort(z, z.Close, err, b.HandOff)
	case NameEtcd:
		e, err := NewEtcd(b.Etcd, timing)
		return withCohort(e, e.Close, err, b.HandOff)
	case NameMemcached:
		m, err := NewMemcached(b.Memcached, timing)
		return withCohort(m, m.Close, err, b.HandOff)
	}
	return nil, fmt.Errorf("lock: no strategy %q: there are %s", name, strings.Join(names, ", "))
}

// withCohort puts a cohort in front of a strategy, if that was opened without an error.
func withCohort(s Strategy, closeStrategy func() error, err error, bounds HandOff) (*Opened, error) {
	if err != nil {
		return nil, err
	}
	c, err := NewCohort(s, bounds)
	if err != nil {
		return nil, err
	}
	return &Opened{Strategy: c, Cohort: c, Close: func() error {
		c.Close()
		return closeStrategy()
	}}, nil
}

// Timing is how long leases and answers may last. Zero fields mean the defaults.
type Timing struct {
	Lease   time.Duration // the server frees the key after this time unless it is renewed; 0: DefaultLease. Renewal runs at a third of it
	Request time.Duration // longest wait for one answer; 0: two seconds, or a third of a shorter lease
}

// checked applies the defaults and checks the relations lease > 2 × renewal > request.
func (t Timing) checked() (Timing, error) {
	t.Lease = cmp.Or(t.Lease, DefaultLease)
	t.Request = cmp.Or(t.Request, min(2*time.Second, t.Lease/3))
	if renewal := t.Lease / 3; t.Lease < shortestLease || t.Request <= 0 || 2*renewal <= t.Request {
		return t, fmt.Errorf(
			"lock: lease %s, request timeout %s: the lease must be at least %s and over one and a half times the request timeout",
			t.Lease, t.Request, shortestLease)
	}
	return t, nil
}
