package worker

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"locklab/loadtest/peers/peer"
)

const (
	warmWaiters = 32 // goroutines
	warmCycles  = 3  // of each, on a key of its own
)

// warm does before the clock starts what a program that runs for long has done: connections are open, scripts are loaded.
// Then two of its goroutines contend, so that a lock that listens for its release has done so once.
func warm(ctx context.Context, lock peer.Lock, section *redis.Client, clients []*redis.Client) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range warmWaiters {
		group.Go(func() error {
			for _, c := range clients {
				if err := c.Ping(ctx).Err(); err != nil {
					return err
				}
			}
			return cycle(ctx, lock, section, fmt.Sprintf("peers:warm:%d:%d", os.Getpid(), i))
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	group, ctx = errgroup.WithContext(context.WithoutCancel(ctx))
	for range 2 {
		group.Go(func() error { return cycle(ctx, lock, section, fmt.Sprintf("peers:warm:%d", os.Getpid())) })
	}
	return group.Wait()
}

func cycle(ctx context.Context, lock peer.Lock, section *redis.Client, key string) error {
	for range warmCycles {
		unlock, err := lock.Lock(ctx, key)
		if err != nil {
			return err
		}
		if err := increment(ctx, section, key+":value"); err != nil {
			return err
		}
		if err := unlock(); err != nil {
			return err
		}
	}
	return nil
}

// increment is the section: a read, and a write of what was read plus one. Two at once lose one.
func increment(ctx context.Context, section *redis.Client, key string) error {
	n, err := section.Get(ctx, key).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	return section.Set(ctx, key, n+1, 0).Err()
}
