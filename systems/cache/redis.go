package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

// Config says for how long Redis keeps what it is given.
type Config struct {
	Prefix string        // of the keys; the id follows
	TTL    time.Duration // of an item, at least
	Spread time.Duration // up to so much is added to each TTL, at random; 0: items that were filled together expire together
	Empty  time.Duration // of the answer that there is no such item; 0: it is not cached
}

// Redis is cache-aside over a reader.
type Redis struct {
	client redis.Cmdable
	source Reader
	Config
}

// NewRedis returns a cache over source.
func NewRedis(client redis.Cmdable, source Reader, cfg Config) (*Redis, error) {
	if cfg.TTL < time.Millisecond || cfg.Spread < 0 || cfg.Empty < 0 || cfg.TTL > math.MaxInt64-cfg.Spread {
		return nil, fmt.Errorf("%w: the TTL is %s, its spread %s and that of empty answers %s; a TTL is 1ms or more, the others are not "+
			"negative, and the TTL with its spread is %s at most", ErrInvalid, cfg.TTL, cfg.Spread, cfg.Empty, time.Duration(math.MaxInt64))
	}
	return &Redis{client, source, cfg}, nil
}

// Cached implements [Cache].
func (r *Redis) Cached(ctx context.Context, id uint64) (item Item, err error) {
	text, err := r.client.Get(ctx, r.key(id)).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return item, ErrMiss
	case err != nil:
		return item, answered(ctx, err)
	case len(text) == 0:
		return item, fmt.Errorf("%w: %d", ErrNotFound, id)
	}
	if err = json.Unmarshal(text, &item); err != nil {
		return item, fmt.Errorf("%w: the key %s has no item: %w", ErrUnavailable, r.key(id), err)
	}
	return item, nil
}

// Get implements [Reader]: what Redis has, and otherwise what the source has. Between its load and its fill another caller may update
// the item and delete the key. Then it fills what is old.
func (r *Redis) Get(ctx context.Context, id uint64) (Item, error) {
	if item, err := r.Cached(ctx, id); !errors.Is(err, ErrMiss) {
		return item, err
	}
	return r.load(ctx, id)
}

// load loads an item and fills it in. A fill that fails costs a load later, and the answer is true all the same.
func (r *Redis) load(ctx context.Context, id uint64) (Item, error) {
	item, err := r.source.Get(ctx, id)
	fill := replies.SendOnce(ctx) // no answer waits until a server accepts it
	switch {
	case err == nil:
		_ = r.Set(fill, item)
	case errors.Is(err, ErrNotFound) && r.Empty > 0:
		_ = r.client.Set(fill, r.key(id), "", r.Empty).Err()
	}
	return item, err
}

// Set fills an item in.
func (r *Redis) Set(ctx context.Context, item Item) error {
	text, _ := json.Marshal(item) // numbers and a text: it cannot fail
	ttl := r.TTL
	if r.Spread > 0 {
		ttl += rand.N(r.Spread)
	}
	return answered(ctx, r.client.Set(ctx, r.key(item.ID), text, ttl).Err())
}

// Delete implements [Deleter].
func (r *Redis) Delete(ctx context.Context, id uint64) error {
	return answered(ctx, r.client.Del(ctx, r.key(id)).Err())
}

// DeleteAll forgets every item. An item that is filled in meanwhile may stay.
func (r *Redis) DeleteAll(ctx context.Context) error {
	cluster, is := r.client.(*redis.ClusterClient)
	if !is {
		return answered(ctx, r.deleteAll(ctx, r.client))
	}
	return answered(ctx, cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error { return r.deleteAll(ctx, master) }))
}

// deleteAll deletes the keys one by one: in a cluster they are of many slots.
func (r *Redis) deleteAll(ctx context.Context, client redis.Cmdable) error {
	keys := client.Scan(ctx, 0, r.Prefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := client.Del(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}

func (r *Redis) key(id uint64) string { return fmt.Sprint(r.Prefix, id) }
