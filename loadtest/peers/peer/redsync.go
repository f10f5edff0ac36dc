package peer

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// peerRedsync polls; its default pause is a random 50 to 250 ms. Its default of 32 tries is raised, for with
// it waiters give up. It does not renew.
type peerRedsync struct {
	sync    *redsync.Redsync
	options []redsync.Option
}

func newRedsync(nodes []redis.UniversalClient, delay time.Duration) Lock {
	var pools []pool.Pool
	for _, node := range nodes {
		pools = append(pools, goredis.NewPool(node))
	}
	options := []redsync.Option{redsync.WithTries(math.MaxInt32), redsync.WithExpiry(lifetime)}
	if delay > 0 {
		options = append(options, redsync.WithRetryDelay(delay))
	}
	return peerRedsync{redsync.New(pools...), options}
}

func (r peerRedsync) Lock(ctx context.Context, key string) (func() error, error) {
	mutex := r.sync.NewMutex(key, r.options...)
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

func (peerRedsync) Close() error { return nil }
