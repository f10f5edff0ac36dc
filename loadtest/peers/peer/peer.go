// Package peer has one file for each lock that is measured, all behind one function type.
package peer

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
)

// Lock blocks until the caller holds key or ctx ends. The caller must then call unlock, which releases the lock.
type Lock func(ctx context.Context, key string) (unlock func() error, err error)

// Servers is what locks are built on. Every lock on go-redis gets the same clients, with the app's own settings: 64 connections, no
// command sent again, contexts obeyed.
type Servers struct {
	Redis   *redis.Client
	Nodes   []redis.UniversalClient
	Backend string // the address of the server that keeps the lock, where it is not a Redis; of a database its DSN
}

// lifetime is that of a lock that is not renewed; no run lasts as long.
const lifetime = 60 * time.Second

// Open opens the lock called name for a process with that many waiters. The caller must call closer, which closes what the lock has opened,
// but not the clients of s.
func Open(name string, s Servers, waiters int) (lock Lock, closer func() error, err error) {
	closer = func() error { return nil }
	switch name {
	case "ours", "bare":
		return openStrategy(lockstrategy.NameRedis, s, name == "bare")
	case "redlock", "redlock" + bare:
		return openStrategy(lockstrategy.NameRedLock, s, name != "redlock")
	case "limit", "local":
		lock = local()
	case "ping":
		lock = ping(s.Redis)
	case "redsync":
		lock = openRedsync(s.Redis)
	case "redsync5":
		lock = openRedsync(s.Nodes...)
	case "redislock":
		lock = openRedislock(s.Redis)
	case "rueidislock":
		return openRueidislock(s.Redis.Options().Addr)
	case "etcd":
		return openEtcd(s.Backend, waiters)
	case "zk.Lock":
		return openZooKeeper(s.Backend)
	case "GET_LOCK":
		return openGetLock(s.Backend)
	default:
		return openBackend(name, s.Backend)
	}
	return lock, closer, err
}

// ping is no lock but a measure: one round trip.
func ping(client *redis.Client) Lock {
	return func(ctx context.Context, _ string) (func() error, error) {
		return func() error { return nil }, client.Ping(ctx).Err()
	}
}
