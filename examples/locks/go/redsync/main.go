// Command redsync is github.com/go-redsync/redsync as a program for app lab try: redsync (one server), or redsync five (RedLock). Every
// setting but the expiry is the library's default, so that a waiter stops after 32 tries.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"locklab/experiments/agent/protocol"
)

func main() {
	claims := protocol.Claims{Name: "redsync", Store: protocol.Redis, Extends: true}
	if len(os.Args) > 1 && os.Args[1] == "five" {
		claims.Name, claims.Store = "redsync, five servers", protocol.RedLock
	}
	if err := protocol.Serve(os.Stdin, os.Stdout, claims, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func open(start protocol.Request) (protocol.Lock, error) {
	var pools []pool.Pool
	for _, addr := range start.Servers {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: addr})))
	}
	locker := redsync.New(pools...)
	return func(ctx context.Context, r protocol.Request) (protocol.Held, error) {
		mutex := locker.NewMutex(r.Key, redsync.WithExpiry(r.Lease()))
		lock := mutex.LockContext
		if r.WaitMS == 0 {
			lock = mutex.TryLockContext
		}
		if err := lock(ctx); err != nil {
			if taken := (*redsync.ErrTaken)(nil); errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) || ctx.Err() != nil {
				err = fmt.Errorf("%w: %w", protocol.ErrRefused, err)
			}
			return protocol.Held{}, err
		}
		return protocol.Held{Release: mine(mutex.UnlockContext), Extend: mine(mutex.ExtendContext)}, nil
	}, nil
}

// mine says by an error that the lock was not held.
func mine(act func(context.Context) (bool, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		done, err := act(ctx)
		if taken := (*redsync.ErrTaken)(nil); errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired) || err == nil && !done {
			return protocol.ErrNotHeld
		}
		return err
	}
}
