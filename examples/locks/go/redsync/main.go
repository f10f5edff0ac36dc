// Command redsync is github.com/go-redsync/redsync as a program for app lab try: redsync (one server), or redsync five (RedLock). Every
// setting but the expiry is the library's default, so that a waiter stops after 32 tries. With redsync five best the client ends a command
// when the library's time for a node is over. Then nothing waits for the servers that hang. That time is 0.05 of the expiry by default,
// which is 400 ms of 8 s. The lab's lease is shorter, so it is 0.4 of that. The ReadTimeout of go-redis is 5/8 of the lease, as its default,
// 5 s, is 5/8 of 8 s.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"locklab/lab/clients/protocol"
)

func main() {
	claims := protocol.Claims{Name: "redsync", Store: protocol.Redis, Extends: true}
	mode := strings.Join(os.Args[1:], " ")
	if mode != "" {
		claims.Name, claims.Store = "redsync "+mode, protocol.RedLock
	}
	best := mode == "five best"
	err := protocol.Serve(os.Stdin, os.Stdout, claims, func(start protocol.Request) (protocol.Lock, error) { return open(start, best) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const nodeFactor = 0.4 // of the expiry: the time for a node

func open(start protocol.Request, best bool) (protocol.Lock, error) {
	var pools []pool.Pool
	for _, addr := range start.Servers {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{
			Addr: addr, ReadTimeout: start.Lease() * 5 / 8, ContextTimeoutEnabled: best,
		})))
	}
	locker := redsync.New(pools...)
	return func(ctx context.Context, r protocol.Request) (protocol.Held, error) {
		options := []redsync.Option{redsync.WithExpiry(r.Lease())}
		if best {
			options = append(options, redsync.WithFailFast(true), redsync.WithTimeoutFactor(nodeFactor))
		}
		mutex := locker.NewMutex(r.Key, options...)
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
