package lockstrategy_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"gorm.io/gorm"
	"gorm.io/gorm/utils/tests"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
)

func TestOpenRefusesWhatCannotWork(t *testing.T) {
	for _, c := range []struct {
		name     string
		strategy string
		backends lockstrategy.Backends
		want     string
	}{
		{"an unknown name", "postgres", lockstrategy.Backends{}, `no strategy "postgres"`},
		{
			"a request timeout that leaves no second try", lockstrategy.NameRedis,
			lockstrategy.Backends{Expiry: 3 * time.Second, Request: 2 * time.Second},
			"over one and a half times the request timeout",
		},
		{
			"a negative request timeout", lockstrategy.NameRedis,
			lockstrategy.Backends{Expiry: 3 * time.Second, Request: -time.Second},
			"request timeout -1s",
		},
		{
			"a node timeout that leaves no second try", lockstrategy.NameRedLock,
			lockstrategy.Backends{Nodes: []redis.UniversalClient{nil}, Expiry: 3 * time.Second, NodeTimeout: 2 * time.Second},
			"counts as request timeout: lock: lease 3s, request timeout 2s",
		},
		{"RedLock without nodes", lockstrategy.NameRedLock, lockstrategy.Backends{}, "needs at least one node"},
		{"ZooKeeper without servers", lockstrategy.NameZooKeeper, lockstrategy.Backends{}, "at least one server"},
		{"Memcached without a client", lockstrategy.NameMemcached, lockstrategy.Backends{}, "needs a client"},
		{
			"a Memcached client that waits longer than a request may take", lockstrategy.NameMemcached,
			lockstrategy.Backends{Memcached: &memcache.Client{Timeout: time.Minute}},
			"waits 1m0s for an answer, and the request timeout is 2s: set its Timeout",
		},
		{"a database lock without a database", lockstrategy.NameDatabase, lockstrategy.Backends{}, "no database"},
		{
			"a database of another kind", lockstrategy.NameDatabase,
			lockstrategy.Backends{Database: &gorm.DB{Config: &gorm.Config{Dialector: tests.DummyDialector{}}}},
			`kind "dummy"; MySQL, MariaDB and SQLite`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := lockstrategy.Open(c.strategy, c.backends); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// A lease has the same bounds in every strategy. A longer one would be too large a number for one server or another.
func TestTheBoundsOfALease(t *testing.T) {
	c, db := client(t, "127.0.0.1:1"), sqliteFile(t)(t, locktest.Settings{})
	for _, name := range []string{
		lockstrategy.NameRedis, lockstrategy.NameRedLock, lockstrategy.NameDatabase, lockstrategy.NameZooKeeper, lockstrategy.NameEtcd,
		lockstrategy.NameMemcached,
	} {
		for _, lease := range []time.Duration{math.MinInt64, time.Millisecond, 24*time.Hour + 1, math.MaxInt64} {
			_, err := lockstrategy.Open(name, lockstrategy.Backends{Expiry: lease})
			if err == nil || !strings.Contains(err.Error(), "the lease must be 10ms to 24h0m0s") {
				t.Errorf("%s with a lease of %s: got %v", name, lease, err)
			}
		}
		for _, lease := range []time.Duration{10 * time.Millisecond, 24 * time.Hour} {
			lock, err := lockstrategy.Open(name, lockstrategy.Backends{
				Expiry: lease, Redis: c, Nodes: []redis.UniversalClient{c}, Database: db, ZooKeeper: []string{"127.0.0.1:1"},
				Etcd: new(clientv3.Client), Memcached: new(memcache.Client),
			})
			if err != nil {
				t.Errorf("%s with a lease of %s: %v", name, lease, err)
				continue
			}
			if (lock.Ping != nil) != (name == lockstrategy.NameZooKeeper) { // the others have been given a client that can
				t.Errorf("%s asks its servers: %t", name, lock.Ping != nil)
			}
			_ = lock.Close()
		}
	}
}
