// Package peer has one file for each lock that is measured, all behind one small interface.
package peer

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Lock is a way to lock.
type Lock interface {
	// Lock blocks until the caller holds key or ctx ends. The returned function gives the lock back.
	Lock(ctx context.Context, key string) (unlock func() error, err error)
	// Close ends what the lock holds open, but not the clients it was given.
	Close() error
}

// Servers is what locks are built on. Every lock on go-redis gets the same clients, with the app's
// own settings: 64 connections, no command sent again, contexts obeyed.
type Servers struct {
	Redis *redis.Client
	Addr  string // Redis's, for a lock that has a client of its own
	Nodes []redis.UniversalClient
	Etcd  string
}

// Open opens the lock called name for a process with so many waiters.
func Open(ctx context.Context, name string, s Servers, waiters int) (Lock, error) {
	switch name {
	case "ours":
		return openOurs(s)
	case "redlock":
		return openRedLock(s)
	case "limit", "local":
		return newLocal(), nil
	case "ping":
		return ping{s.Redis}, nil
	case "naive":
		return naive{s.Redis}, nil
	case "redsync":
		return newRedsync([]redis.UniversalClient{s.Redis}, 0), nil
	case "redsync-10ms":
		return newRedsync([]redis.UniversalClient{s.Redis}, pause), nil
	case "redsync5":
		return newRedsync(s.Nodes, 0), nil
	case "redislock", "redislock-100ms":
		return newRedislock(s.Redis, strings.HasSuffix(name, "-100ms")), nil
	case "rueidislock":
		return openRueidislock(s.Addr, 1)
	case "rueidislock-3keys":
		return openRueidislock(s.Addr, 2)
	case "etcd":
		return openEtcd(ctx, s.Etcd, waiters)
	}
	return nil, fmt.Errorf("no lock %q", name)
}
