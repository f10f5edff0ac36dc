// Command redislock is github.com/bsm/redislock as a program for app lab try. Every option is the default, so it tries once. With the
// argument retry it has LinearBackoff, as in the library's examples, and with sentinel behind it, it is over Redis with Sentinel. With wait
// behind that, it also waits until a replica has the lock. The time to live is the lab's lease, and the ReadTimeout of go-redis, which is
// 5 s, a quarter of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"locklab/lab/clients/protocol"
)

const backoff = 100 * time.Millisecond

func main() {
	claims, retry := protocol.Claims{Name: "redislock", Store: protocol.Redis, Extends: true}, redislock.NoRetry()
	if len(os.Args) > 1 && os.Args[1] == "retry" {
		claims.Name, retry = "redislock, retry", redislock.LinearBackoff(backoff)
	}
	if len(os.Args) > 2 && os.Args[2] == protocol.Sentinel {
		claims.Name, claims.Store = claims.Name+", sentinel", protocol.Sentinel
	}
	if len(os.Args) > 3 && os.Args[3] == "wait" {
		claims.Name, claims.Replica = claims.Name+", wait", true
	}
	err := protocol.Serve(os.Stdin, os.Stdout, claims, func(start protocol.Request) (protocol.Lock, error) {
		client := connect(claims.Store, start)
		locker := redislock.New(client)
		return func(ctx context.Context, r protocol.Request) (protocol.Held, error) {
			options := &redislock.Options{RetryStrategy: retry}
			if r.WaitMS == 0 {
				options = nil
			}
			if claims.Replica {
				return acquireReplicated(ctx, client, r, options)
			}
			return acquire(ctx, locker, r, options)
		}, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func connect(store string, start protocol.Request) *redis.Client {
	timeout := start.Lease() / 4
	if store == protocol.Sentinel {
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "lab", SentinelAddrs: start.Servers, ReadTimeout: timeout})
	}
	return redis.NewClient(&redis.Options{Addr: start.Servers[0], ReadTimeout: timeout})
}

func acquire(ctx context.Context, locker *redislock.Client, r protocol.Request, options *redislock.Options) (protocol.Held, error) {
	lock, err := locker.Obtain(ctx, r.Key, r.Lease(), options)
	if errors.Is(err, redislock.ErrNotObtained) {
		err = fmt.Errorf("%w: %w", protocol.ErrRefused, err)
	}
	if err != nil {
		return protocol.Held{}, err
	}
	return protocol.Held{
		Release: func(ctx context.Context) error { return notHeld(lock.Release(ctx)) },
		Extend:  func(ctx context.Context) error { return notHeld(lock.Refresh(ctx, r.Lease(), nil)) },
	}, nil
}

// acquireReplicated releases a lock that no replica has. WAIT counts the replicas that have what its own connection has written, so both
// use one connection of the pool, which then gets it back. WAIT has a timeout: with 0 it would wait for ever.
func acquireReplicated(ctx context.Context, client *redis.Client, r protocol.Request, options *redislock.Options) (protocol.Held, error) {
	conn := client.Conn()
	defer conn.Close()
	through := &struct{ redis.Scripter }{conn} // what the lock sends its commands through
	lock, err := acquire(ctx, redislock.New(through), r, options)
	if err != nil {
		return lock, err
	}
	replicas, err := conn.Wait(ctx, 1, r.Lease()/8).Result()
	if err == nil && replicas == 0 {
		err = errors.New("no replica has confirmed the lock")
	}
	if err != nil {
		return lock, errors.Join(err, lock.Release(ctx))
	}
	through.Scripter = client
	return lock, nil
}

func notHeld(err error) error {
	if errors.Is(err, redislock.ErrLockNotHeld) || errors.Is(err, redislock.ErrNotObtained) {
		return protocol.ErrNotHeld
	}
	return err
}
