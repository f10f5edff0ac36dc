package scorecard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"gorm.io/gorm"

	"locklab/lab/clients"
)

// empty removes all keys from servers, as an eviction, an expiry or an administrator does. Connections stay open. It returns what proves
// that.
func empty(ctx context.Context, s *clients.Servers) (proof string, err error) {
	conn, err := clients.ConnectStore(ctx, s.Strategy, s.Addrs)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	switch c := conn.Backend().(type) {
	case *redis.ClusterClient:
		return flushMasters(ctx, c)
	case redis.UniversalClient:
		return flush(ctx, c)
	case []redis.UniversalClient:
		return flush(ctx, c...)
	case *gorm.DB:
		return deleteRows(c.WithContext(ctx))
	case []string:
		return deleteEphemerals(c)
	case *clientv3.Client:
		return expireLeases(ctx, c)
	case *memcache.Client:
		return "flush_all was executed", c.FlushAll()
	}
	return "", fmt.Errorf("the lab cannot empty a server of %s", s.Strategy)
}

// loseKeysOf removes the keys that a grant has written on servers of Redis.
func (b *bench) loseKeysOf(ctx context.Context, grant func()) {
	before := b.keys(ctx)
	grant()
	for i, now := range b.keys(ctx) {
		written := slices.DeleteFunc(now, func(key string) bool { return slices.Contains(before[i], key) })
		if len(written) == 0 {
			continue
		}
		b.Must(b.servers.Nodes[i].WithClient(func(c *redis.Client) error { return c.Del(ctx, written...).Err() }))
		b.Fault(b.servers.Nodes[i].Name, "lost a key", fmt.Sprintf("%q was deleted", written))
	}
}

// keys are those of each server of Redis.
func (b *bench) keys(ctx context.Context) (all [][]string) {
	for _, n := range b.servers.Nodes {
		b.Must(n.WithClient(func(c *redis.Client) error {
			keys, err := c.Keys(ctx, "*").Result()
			all = append(all, keys)
			return err
		}))
	}
	return all
}

// deleted is the proof; without one the lock keeps nothing that the lab can delete.
func deleted(n int64, what string) (proof string, err error) {
	if n == 0 {
		return "", fmt.Errorf("the lock has no %s that the lab could delete", what)
	}
	return fmt.Sprintf("%d %s were deleted", n, what), nil
}

// expireLeases ends the leases that hold keys, as etcd does when their time is over. Its client is told of the end of a lease, and of
// nothing else. Where no key has a lease, it deletes all keys.
func expireLeases(ctx context.Context, c *clientv3.Client) (proof string, err error) {
	all, err := c.Leases(ctx)
	if err != nil {
		return "", err
	}
	revoked := int64(0)
	for _, lease := range all.Leases {
		ttl, err := c.TimeToLive(ctx, lease.ID, clientv3.WithAttachedKeys())
		if err == nil && len(ttl.Keys) > 0 {
			revoked++
			_, err = c.Revoke(ctx, lease.ID)
		}
		if err != nil {
			return "", err
		}
	}
	if revoked > 0 {
		return fmt.Sprintf("%d leases with keys were revoked", revoked), nil
	}
	gone, err := c.Delete(ctx, "\x00", clientv3.WithFromKey())
	if err != nil {
		return "", err
	}
	return deleted(gone.Deleted, "keys")
}

func flush(ctx context.Context, nodes ...redis.UniversalClient) (proof string, err error) {
	gone := int64(0)
	for _, n := range nodes {
		keys, err := n.DBSize(ctx).Result()
		if err == nil {
			err = n.FlushAll(ctx).Err()
		}
		if err != nil {
			return "", err
		}
		gone += keys
	}
	return deleted(gone, "keys")
}

// flushMasters is flush for the masters of a cluster, whose replicas follow.
func flushMasters(ctx context.Context, c *redis.ClusterClient) (proof string, err error) {
	var mu sync.Mutex
	var masters []redis.UniversalClient
	err = c.ForEachMaster(ctx, func(_ context.Context, master *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, master)
		return nil
	})
	if err != nil {
		return "", err
	}
	return flush(ctx, masters...)
}

// deleteRows deletes the rows of each table of the database.
func deleteRows(db *gorm.DB) (proof string, err error) {
	tables, err := db.Migrator().GetTables()
	if err != nil {
		return "", err
	}
	rows := int64(0)
	for _, table := range tables {
		done := db.Exec("DELETE FROM `" + table + "`")
		if done.Error != nil {
			return "", done.Error
		}
		rows += done.RowsAffected
	}
	return deleted(rows, "rows")
}

// deleteEphemerals deletes the nodes of ZooKeeper that belong to a session.
func deleteEphemerals(servers []string) (proof string, err error) {
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	gone, err := deleteBelow(conn, "/")
	if err != nil {
		return "", err
	}
	return deleted(int64(gone), "ephemeral nodes")
}

func deleteBelow(conn *zk.Conn, path string) (gone int, err error) {
	children, _, err := conn.Children(path)
	for _, name := range children {
		if err != nil {
			return gone, err
		}
		child := strings.TrimSuffix(path, "/") + "/" + name
		var stat *zk.Stat
		var below int
		switch _, stat, err = conn.Exists(child); {
		case err != nil:
		case stat.EphemeralOwner != 0:
			err = conn.Delete(child, -1)
			gone++
		default:
			below, err = deleteBelow(conn, child)
			gone += below
		}
	}
	return gone, err
}
