package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
	"locklab/lockstrategy/redislock/script"
	"locklab/lockstrategy/redlock"
)

// Held is a lock that one server of Redis keeps now.
type Held struct {
	Key, Owner string
	Token      uint64        // of the grant; each hand-off since adds one. 0: RedLock has none
	Left       time.Duration // of the lease; -1: it has no expiry
	Listeners  int64         // processes to which its release is published: those that wait, and maybe the holder's
}

// Holder is the owner for people. The value of the Redis lock names a process by a random id, and an attempt of it.
func (h Held) Holder() string {
	if _, call, both := strings.Cut(h.Owner, ":"); both {
		return fmt.Sprintf("process %.8s, attempt %s", h.Process(), call)
	}
	return fmt.Sprintf("%.12s", h.Owner)
}

// Process is the random id of the process in the name of the owner: the one that an instance tells as [versions.Opened].Process.
func (h Held) Process() string {
	process, _, _ := strings.Cut(h.Owner, ":")
	return process
}

// Locks lists the Redis and RedLock locks of one server, sorted by key. It changes nothing. A server of a cluster lists
// those of its slots.
//
// NOT listed: a lock that only Redisson has taken for a day, and one whose whole name is a tag. The answers are not of one moment.
func Locks(ctx context.Context, client *redis.Client, cluster bool) ([]Held, error) {
	var all []Held
	var channels []string
	for _, prefix := range []string{script.GrantPrefix + ":", redlock.Prefix} {
		names, err := matching(ctx, client, prefix)
		if err != nil {
			return nil, err
		}
		held, of, err := heldOf(ctx, client, prefix, names)
		if err != nil {
			return nil, err
		}
		all, channels = append(all, held...), append(channels, of...)
	}
	if len(all) == 0 {
		return nil, nil
	}
	ask := client.PubSubNumSub
	if cluster {
		ask = client.PubSubShardNumSub
	}
	listeners, err := ask(ctx, channels...).Result()
	for i, channel := range channels {
		all[i].Listeners = listeners[channel]
	}
	slices.SortFunc(all, func(a, b Held) int { return cmp.Compare(a.Key, b.Key) })
	return all, answered(err)
}

// matching lists the keys that begin with a prefix.
func matching(ctx context.Context, client *redis.Client, prefix string) (keys []string, err error) {
	const batch = 1000
	found := make(map[string]bool) // SCAN may repeat a key
	scan := client.Scan(ctx, 0, prefix+"*", batch).Iterator()
	for scan.Next(ctx) {
		if !found[scan.Val()] {
			found[scan.Val()], keys = true, append(keys, scan.Val())
		}
	}
	return keys, scan.Err()
}

// heldOf returns those locks that are held, and their channels. Each name is the number of a Redis lock's last grant, or a key of RedLock.
func heldOf(ctx context.Context, client *redis.Client, prefix string, names []string) (held []Held, channels []string, err error) {
	if len(names) == 0 {
		return nil, nil, nil
	}
	keys := slices.Clone(names)
	hashes, texts := make([]*redis.StringSliceCmd, len(names)), make([]*redis.StringCmd, len(names))
	expiries := make([]*redis.DurationCmd, len(names))
	_, err = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, name := range names {
			if prefix != redlock.Prefix {
				keys[i] = lockOf(name)
				hashes[i] = p.HKeys(ctx, keys[i])
			}
			texts[i], expiries[i] = p.Get(ctx, name), p.PTTL(ctx, keys[i])
		}
		return nil
	})
	for i, key := range keys {
		h := Held{Key: key, Owner: texts[i].Val(), Left: max(expiries[i].Val(), -1)}
		channel := redlock.ChannelOf(strings.TrimPrefix(key, redlock.Prefix))
		if hashes[i] != nil {
			number, _ := texts[i].Uint64()
			h.Owner, h.Token, channel = strings.Join(hashes[i].Val(), " "), number*lockstrategy.TokensPerGrant, script.Channel(key)
		}
		if h.Owner != "" && expiries[i].Val() != -2 { // else it is free, or became free between two answers (-2: there is no such key)
			held, channels = append(held, h), append(channels, channel)
		}
	}
	return held, channels, answered(err)
}

// lockOf is the lock whose key of the last grant's number has this name.
func lockOf(name string) string {
	key := strings.TrimPrefix(name, script.GrantPrefix+":")
	if inner := strings.Trim(key, "{}"); key == "{"+inner+"}" && !strings.ContainsAny(inner, "{}") {
		return inner
	}
	return key
}

// answered ignores error replies: a key is gone, or another program has it for something else.
func answered(err error) error {
	if says := redis.Error(nil); errors.As(err, &says) {
		return nil
	}
	return err
}
