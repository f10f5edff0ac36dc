package stack

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Restart kills a node, unless it has ended, and starts it again at its address: empty, because no node of
// a stack keeps anything on disk. Nobody may use the node's Server meanwhile. A container cannot be started again. proof is what was seen of it.
func (s *Stack) Restart(ctx context.Context, n *Node) (proof string, err error) {
	if n.start == nil {
		return "", fmt.Errorf("stack: %s cannot be started again: it runs in a container", n.Name)
	}
	n.Kill()
	before, err := n.Ended()
	if err != nil {
		return "", err
	}
	p, err := n.start(n.Addr)
	if err != nil {
		return "", err
	}
	n.Server = p
	var keys int64
	err = await(ctx, p, func(ctx context.Context) error {
		return n.WithClient(func(c *redis.Client) (err error) {
			keys, err = c.DBSize(ctx).Result()
			return err
		})
	})
	if err == nil && keys > 0 {
		err = fmt.Errorf("stack: %s was to come back empty, and has %d keys", n.Name, keys)
	}
	return fmt.Sprintf("%s; process %d answers at %s with %d keys", before, p.PID(), n.Addr, keys), err
}

// ClockAhead makes a node believe that more time has passed than did. Its clock is not touched: the life of every key
// that has an end is shortened by so much, which is all that the node does with its clock as far as a lock can see.
func (s *Stack) ClockAhead(ctx context.Context, n *Node, by time.Duration) (proof string, err error) {
	var told []string
	err = n.WithClient(func(c *redis.Client) error {
		keys, err := c.Keys(ctx, "*").Result()
		if err != nil {
			return err
		}
		for _, key := range keys {
			left, err := c.PTTL(ctx, key).Result()
			if err != nil {
				return err
			}
			if left <= 0 { // it has no end, or has ended
				continue
			}
			if err := c.PExpire(ctx, key, left-by).Err(); err != nil {
				return err
			}
			now := "expired"
			if after, err := c.PTTL(ctx, key).Result(); err == nil && after > 0 {
				now = "has " + after.String()
			}
			told = append(told, fmt.Sprintf("%s had %s and %s", key, left, now))
		}
		return nil
	})
	return strings.Join(told, "; "), err
}

// filler is what a memory is filled with, in one key.
var filler = strings.Repeat("x", 10<<10)

// Full is what filling a node's memory led to.
type Full struct {
	Evicted int64 // keys that the node has thrown away for it
	Refused error // what it said instead; nil: it took everything
}

// Fill gives a node little memory and an eviction policy, and writes keys without an expiry until enough reports true or the
// node refuses to take more. [Stack.Unfill] undoes it. Only a real redis-server evicts.
func (s *Stack) Fill(ctx context.Context, n *Node, policy string, enough func(context.Context) (bool, error)) (full Full, err error) {
	return full, n.WithClient(func(c *redis.Client) error {
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
}

// Unfill takes away the limit and the keys of [Stack.Fill].
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

// WithClient asks the node itself, past its link.
func (n *Node) WithClient(question func(*redis.Client) error) error {
	client := newClient(n.Addr, n.password)
	defer client.Close()
	return question(client)
}

// Info is one field of what the node says of itself.
func (n *Node) Info(ctx context.Context, section, name string) (value string, err error) {
	err = n.WithClient(func(c *redis.Client) error {
		text, err := c.Info(ctx, section).Result()
		if err != nil {
			return err
		}
		if value, err = field(text, name); err != nil {
			err = fmt.Errorf("stack: %s: %w", n.Name, err)
		}
		return err
	})
	return value, err
}

// Number is a field of Info that is one.
func (n *Node) Number(ctx context.Context, section, field string) (number int64, err error) {
	text, err := n.Info(ctx, section, field)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// Await asks until ready answers nil, the node ends, or ctx does.
func (n *Node) Await(ctx context.Context, ready func(context.Context) error) error {
	return await(ctx, n, ready)
}
