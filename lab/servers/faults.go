package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Restart is [Restartable.Restart] of a node that keeps nothing on its disk, as those without settings: it is empty then.
func (n *Node) Restart(ctx context.Context) (proof string, err error) {
	if proof, err = n.Restartable.Restart(ctx); err != nil {
		return "", err
	}
	var keys int64
	err = n.WithClient(func(c *redis.Client) (err error) {
		keys, err = c.DBSize(ctx).Result()
		return err
	})
	if err == nil && keys > 0 {
		err = fmt.Errorf("%s has %d keys after a restart, and must be empty", n.Name, keys)
	}
	return fmt.Sprintf("%s with %d keys", proof, keys), err
}

// ClockAhead has the same effect on a lock as a node's clock that jumps ahead. It shortens the remaining life of every key that
// expires, and does not change the clock itself.
func (s *Stack) ClockAhead(ctx context.Context, n *Node, by time.Duration) (proof string, err error) {
	var changes []string
	err = n.WithClient(func(c *redis.Client) error {
		keys, err := c.Keys(ctx, "*").Result()
		for _, key := range keys {
			change, failed := shortenLife(ctx, c, key, by)
			if failed != nil {
				return failed
			}
			if change != "" {
				changes = append(changes, change)
			}
		}
		return err
	})
	return strings.Join(changes, "; "), err
}

// shortenLife makes a key expire earlier, and returns the change: none for a key that does not expire.
func shortenLife(ctx context.Context, c *redis.Client, key string, by time.Duration) (change string, err error) {
	left, err := c.PTTL(ctx, key).Result()
	if err != nil || left <= 0 {
		return "", err
	}
	if err := c.PExpire(ctx, key, left-by).Err(); err != nil {
		return "", err
	}
	now := "expired"
	if after, err := c.PTTL(ctx, key).Result(); err == nil && after > 0 {
		now = "has " + after.String()
	}
	return fmt.Sprintf("%s had %s and %s", key, left, now), nil
}

// filler is the value of each key with which a memory is filled.
var filler = strings.Repeat("x", 10<<10)

// Full is the result of filling a node's memory.
type Full struct {
	Evicted int64 // keys that the node has evicted to make room
	Refused error // the error of the write that it refused; nil: it refused none
}

// Fill gives a node little memory and an eviction policy. It writes keys without an expiry until enough returns true or the
// node refuses a write. [Stack.Unfill] removes the limit and the keys. Only a real redis-server evicts.
func (s *Stack) Fill(ctx context.Context, n *Node, policy string, enough func(context.Context) (bool, error)) (full Full, err error) {
	err = n.WithClient(func(c *redis.Client) error {
		used, err := n.Number(ctx, "memory", "used_memory")
		if err != nil {
			return err
		}
		err = errors.Join(
			c.ConfigSet(ctx, "maxmemory-policy", policy).Err(),
			c.ConfigSet(ctx, "maxmemory", fmt.Sprint(used+2<<20)).Err(),
		)
		for i := 0; err == nil && full.Refused == nil; i++ {
			if err = c.Set(ctx, fmt.Sprintf("filler:%d", i), filler, 0).Err(); redis.HasErrorPrefix(err, "OOM") {
				full.Refused, err = err, nil
			}
			if done, failed := enough(ctx); failed != nil || done {
				err = errors.Join(err, failed)
				break
			}
		}
		if err == nil {
			full.Evicted, err = n.Number(ctx, "stats", "evicted_keys")
		}
		return err
	})
	return full, err
}

// Unfill ends [Stack.Fill]: it removes the limit and the keys.
func (s *Stack) Unfill(ctx context.Context, n *Node) error {
	return n.WithClient(func(c *redis.Client) error {
		err := errors.Join(c.ConfigSet(ctx, "maxmemory", "0").Err(), c.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err())
		keys, failed := c.Keys(ctx, "filler:*").Result()
		if len(keys) > 0 {
			failed = errors.Join(failed, c.Unlink(ctx, keys...).Err())
		}
		return errors.Join(err, failed)
	})
}
