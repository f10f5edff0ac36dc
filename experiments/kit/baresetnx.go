package kit

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/cache"
)

// ErrNobodyLoads says that the caller was refused the lock, and has no answer.
var ErrNobodyLoads = errors.New("another caller has the lock, and there is no answer")

// BareSETNX is A3's listing against the breakdown of a hot key. It takes the lock with SETNX: without an expiry, without a delete, and
// with nothing for those who are refused. The key stays for ever, and so nobody loads the item when it expires the next time.
type BareSETNX struct {
	cache.Cache
	Client redis.Cmdable
	Poll   time.Duration // 0: as printed. Otherwise as the prose has it: the key is deleted, and the others look again after so long
}

// Get implements [cache.Reader].
func (b BareSETNX) Get(ctx context.Context, id uint64) (cache.Item, error) {
	for {
		if item, err := b.Cached(ctx, id); !errors.Is(err, cache.ErrMiss) {
			return item, err
		}
		granted, err := b.Client.SetNX(ctx, cache.LockKey(id), 1, 0).Result()
		switch {
		case err != nil:
			return cache.Item{}, err
		case granted:
			item, err := b.Cache.Get(ctx, id)
			if b.Poll > 0 { // a holder that dies before this line leaves the key
				err = errors.Join(err, b.Client.Del(ctx, cache.LockKey(id)).Err())
			}
			return item, err
		case b.Poll == 0:
			return cache.Item{}, ErrNobodyLoads
		}
		select {
		case <-time.After(b.Poll):
		case <-ctx.Done():
			return cache.Item{}, errors.Join(ErrNobodyLoads, ctx.Err())
		}
	}
}
