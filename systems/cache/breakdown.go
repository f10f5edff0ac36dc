package cache

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"

	"locklab/internal/replies"
)

// SingleFlight lets one caller of this process load an item, and the others share its answer. Each process has a load of its own.
type SingleFlight struct {
	Cache
	group singleflight.Group
}

// NewSingleFlight returns it over a cache.
func NewSingleFlight(c Cache) *SingleFlight { return &SingleFlight{Cache: c} }

// Get implements [Reader]. A load goes on when its caller has left, because others wait for it.
func (s *SingleFlight) Get(ctx context.Context, id uint64) (Item, error) {
	if item, err := s.Cached(ctx, id); !errors.Is(err, ErrMiss) {
		return item, err
	}
	result := s.group.DoChan(strconv.FormatUint(id, 10), func() (any, error) {
		return s.Cache.Get(context.WithoutCancel(ctx), id)
	})
	select {
	case r := <-result:
		item, _ := r.Val.(Item)
		return item, r.Err
	case <-ctx.Done():
		return Item{}, answered(ctx, ctx.Err())
	}
}

// LockKey is the key to lock around a load. The braces keep all keys of an item in one slot of a cluster.
func LockKey(id uint64) string { return fmt.Sprintf("lock:item:{%d}", id) }

// Locked lets one caller of all processes load an item. The others wait for the lock, and look into the cache again.
type Locked struct {
	Cache
	Lock Locker
}

// Get implements [Reader].
func (l Locked) Get(ctx context.Context, id uint64) (Item, error) {
	item, err := l.Cached(ctx, id)
	if !errors.Is(err, ErrMiss) {
		return item, err
	}
	var answer error // of the cache: an item that does not exist is no error of the lock
	err = l.Lock.Do(ctx, LockKey(id), func(ctx context.Context, _ uint64) error {
		item, answer = l.Cache.Get(ctx, id) // it looks again before it loads
		return nil
	})
	return item, errors.Join(err, answer)
}

// Refreshing keeps items without a TTL. When an item is older than its age, one caller of all processes starts a load in the background.
// Every caller gets the old item meanwhile. So no caller waits for a load but the first one of an item, and an answer may be old.
type Refreshing struct {
	*Redis
	age     time.Duration
	loading sync.WaitGroup
}

// NewRefreshing returns a cache over source. Its items do not expire. prefix is that of the keys.
func NewRefreshing(client redis.Cmdable, source Reader, prefix string, age time.Duration) (*Refreshing, error) {
	if age < time.Millisecond {
		return nil, fmt.Errorf("%w: items are refreshed when they are older than %s; it must be 1ms or more", ErrInvalid, age)
	}
	return &Refreshing{Redis: &Redis{client, source, Config{Prefix: prefix}}, age: age}, nil
}

// Get implements [Reader]. The item is fresh while a second key lives. The caller that creates that key again loads: one in all. If it
// dies, the next one loads an age later.
func (r *Refreshing) Get(ctx context.Context, id uint64) (Item, error) {
	item, err := r.Cached(ctx, id)
	if err != nil && !errors.Is(err, ErrMiss) {
		return item, err
	}
	due, failed := r.client.SetNX(replies.SendOnce(ctx), "fresh:"+r.key(id), 1, r.age).Result()
	switch {
	case errors.Is(err, ErrMiss):
		return r.load(ctx, id)
	case failed == nil && due:
		r.loading.Go(func() { _, _ = r.load(context.WithoutCancel(ctx), id) })
	}
	return item, nil
}

// Close waits for the loads in the background.
func (r *Refreshing) Close() error { r.loading.Wait(); return nil }
