package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Lock blocks until the caller holds key or ctx ends. The caller must then call unlock, which releases the lock.
type Lock func(ctx context.Context, key string) (unlock func() error, err error)

// clients is what locks are built on. Every lock on go-redis gets the same clients, with the app's own settings: 64 connections, no
// command sent again, contexts obeyed.
type clients struct {
	redis   *redis.Client
	nodes   []redis.UniversalClient
	backend string // the address of the server that keeps the lock, where it is not a Redis: as the flag of app serve has it
}

const (
	lifetime    = 60 * time.Second // of a lock that is not renewed; no run lasts as long
	connects    = 10 * time.Second // until a server must have answered
	connections = 64               // of a process, as in the app
)

// open opens the lock called name for a process with that many waiters. The caller must call closer, which closes what the lock has opened,
// but not the clients of s.
func open(name string, s clients, waiters int) (lock Lock, closer func() error, err error) {
	if library, behind := strings.CutSuffix(name, Mutex); behind {
		lock, closer, err = open(library, s, 1)
		return behindMutex(lock), closer, err
	}
	closer = func() error { return nil }
	switch name {
	case "limit", "local":
		lock = local()
	case "ping":
		lock = ping(s.redis)
	case "redsync":
		lock = openRedsync(s.redis)
	case "redsync5":
		lock = openRedsync(s.nodes...)
	case "redislock":
		lock = openRedislock(s.redis)
	case "rueidislock":
		return openRueidislock(s.redis.Options().Addr)
	case "etcd":
		return openEtcd(s.backend, waiters)
	case "zk.Lock":
		return openZooKeeper(s.backend)
	case "GET_LOCK":
		return openGetLock(s.backend)
	default:
		o, known := ours[name]
		if version, isBare := strings.CutSuffix(name, Bare); isBare {
			o, known = ours[version]
			o.bare = true
		}
		if !known {
			return nil, nil, fmt.Errorf("no lock %q", name)
		}
		return o.open(s)
	}
	return lock, closer, err
}

// Endings of the names of locks.
const (
	Bare  = "-bare"  // a lock of ours without the queue in the process
	Mutex = "-mutex" // a library behind a mutex in each process
)

// behindMutex lets one goroutine of the process at a time ask for a key, as a program does that has a mutex in front of its library.
func behindMutex(lock Lock) Lock {
	inside := local()
	return func(ctx context.Context, key string) (func() error, error) {
		leave, err := inside(ctx, key)
		if err != nil {
			return nil, err
		}
		unlock, err := lock(ctx, key)
		if err != nil {
			return nil, errors.Join(err, leave())
		}
		return func() error { return errors.Join(unlock(), leave()) }, nil
	}
}

// ping is no lock but a measure: one round trip.
func ping(client *redis.Client) Lock {
	return func(ctx context.Context, _ string) (func() error, error) {
		return func() error { return nil }, client.Ping(ctx).Err()
	}
}
