// Command redislock is github.com/bsm/redislock as a program for app lab try. Every option is the default, so it tries once. With the
// argument retry it has LinearBackoff, as in the library's examples, and with sentinel behind it, it is over Redis with Sentinel. The time to live is the lab's lease, and the ReadTimeout of go-redis,
// which is 5 s, a quarter of it.
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
	err := protocol.Serve(os.Stdin, os.Stdout, claims, func(start protocol.Request) (protocol.Lock, error) {
		locker := redislock.New(connect(claims.Store, start))
		return func(ctx context.Context, r protocol.Request) (protocol.Held, error) {
			options := &redislock.Options{RetryStrategy: retry}
			if r.WaitMS == 0 {
				options = nil
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

func notHeld(err error) error {
	if errors.Is(err, redislock.ErrLockNotHeld) || errors.Is(err, redislock.ErrNotObtained) {
		return protocol.ErrNotHeld
	}
	return err
}
