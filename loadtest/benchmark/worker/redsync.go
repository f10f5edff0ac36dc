package worker

import (
	"context"
	"errors"
	"math"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// openRedsync opens a lock that polls; its default delay is a random 50 to 250 ms. Its default of 32 tries is raised, because with it
// waiters fail. It does not renew.
func openRedsync[C redis.UniversalClient](nodes ...C) Lock {
	var pools []pool.Pool
	for _, node := range nodes {
		pools = append(pools, goredis.NewPool(node))
	}
	locker := redsync.New(pools...)
	return func(ctx context.Context, key string) (func() error, error) {
		mutex := locker.NewMutex(key, redsync.WithTries(math.MaxInt32), redsync.WithExpiry(lifetime))
		if err := mutex.LockContext(ctx); err != nil {
			return nil, err
		}
		return func() error {
			ok, err := mutex.UnlockContext(ctx)
			if err == nil && !ok {
				err = errors.New("redsync: not unlocked")
			}
			return err
		}, nil
	}
}
