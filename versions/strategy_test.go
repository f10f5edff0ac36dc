package versions_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/glebarez/sqlite"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"gorm.io/gorm"
	"gorm.io/gorm/utils/tests"

	"locklab/lab/testenv/testlocks"
	"locklab/versions"
)

func TestOpenRefusesWhatCannotWork(t *testing.T) {
	for _, c := range []struct {
		name     string
		strategy string
		backends versions.Backends
		want     string
	}{
		{"an unknown name", "postgres", versions.Backends{}, `no strategy "postgres"`},
		{
			"a request timeout that leaves no second try", versions.NameRedis,
			versions.Backends{Expiry: 3 * time.Second, Request: 2 * time.Second},
			"over one and a half times the request timeout",
		},
		{
			"a negative request timeout", versions.NameRedis,
			versions.Backends{Expiry: 3 * time.Second, Request: -time.Second},
			"request timeout -1s",
		},
		{
			"a node timeout that leaves no second try", versions.NameRedLock,
			versions.Backends{Nodes: []redis.UniversalClient{nil}, Expiry: 3 * time.Second, NodeTimeout: 2 * time.Second},
			"counts as request timeout: lock: lease 3s, request timeout 2s",
		},
		{"RedLock without nodes", versions.NameRedLock, versions.Backends{}, "needs at least one node"},
		{"ZooKeeper without servers", versions.NameZooKeeper, versions.Backends{}, "at least one server"},
		{"Memcached without a client", versions.NameMemcached, versions.Backends{}, "needs a client"},
		{
			"a Memcached client that waits longer than a request may take", versions.NameMemcached,
			versions.Backends{Memcached: &memcache.Client{Timeout: time.Minute}},
			"waits 1m0s for an answer, and the request timeout is 2s: set its Timeout",
		},
		{"a database lock without a database", versions.NameDatabase, versions.Backends{}, "no database"},
		{
			"a database of another kind", versions.NameDatabase,
			versions.Backends{Database: &gorm.DB{Config: &gorm.Config{Dialector: tests.DummyDialector{}}}},
			`kind "dummy"; MySQL, MariaDB and SQLite`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := versions.Open(c.strategy, c.backends); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// A lease has the same bounds in every strategy. A longer one would be too large a number for one server or another.
func TestTheBoundsOfALease(t *testing.T) {
	c, db := testlocks.Client(t, "127.0.0.1:1"), sqliteInMemory(t)
	for _, name := range []string{
		versions.NameRedis, versions.NameRedLock, versions.NameDatabase, versions.NameZooKeeper, versions.NameEtcd,
		versions.NameMemcached,
	} {
		for _, lease := range []time.Duration{math.MinInt64, time.Millisecond, 24*time.Hour + 1, math.MaxInt64} {
			_, err := versions.Open(name, versions.Backends{Expiry: lease})
			if err == nil || !strings.Contains(err.Error(), "the lease must be 10ms to 24h0m0s") {
				t.Errorf("%s with a lease of %s: got %v", name, lease, err)
			}
		}
		for _, lease := range []time.Duration{10 * time.Millisecond, 24 * time.Hour} {
			lock, err := versions.Open(name, versions.Backends{
				Expiry: lease, Redis: c, Nodes: []redis.UniversalClient{c}, Database: db, ZooKeeper: []string{"127.0.0.1:1"},
				Etcd: new(clientv3.Client), Memcached: new(memcache.Client),
			})
			if err != nil {
				t.Errorf("%s with a lease of %s: %v", name, lease, err)
				continue
			}
			if (lock.Ping != nil) != (name == versions.NameZooKeeper) { // the others have been given a client that can
				t.Errorf("%s asks its servers: %t", name, lock.Ping != nil)
			}
			_ = lock.Close()
		}
	}
}

// sqliteInMemory opens a database that ends with the test.
func sqliteInMemory(t *testing.T) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(sqlite.Open(":memory:"), new(gorm.Config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if pool, err := db.DB(); err == nil {
			_ = pool.Close()
		}
	})
	return db
}
