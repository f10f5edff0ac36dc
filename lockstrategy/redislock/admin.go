package redislock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
	"locklab/lockstrategy/redislock/script"
)

// State is the state of a key on the lock's server.
type State struct {
	Held      bool
	Owner     string        // as it stands in the server
	Count     int           // how often its owner has entered; ours count in the process and say 1
	Remaining time.Duration // of the lease, unless it is renewed; -1: it has no expiry
	Mine      bool          // the owner is a call of this process
}

// Inspect says whether key is held, and which owner holds it. By the time it is read, the answer may be old.
func (r *Lock) Inspect(ctx context.Context, key string) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timing.Request)
	defer cancel()
	var fields *redis.MapStringStringCmd
	var expiry *redis.DurationCmd
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		fields, expiry = p.HGetAll(ctx, key), p.PTTL(ctx, key)
		return nil
	})
	if err != nil {
		return State{}, fmt.Errorf("%w: inspect %s: %w", lockstrategy.ErrUnavailable, key, err)
	}
	s := State{Remaining: max(expiry.Val(), -1)}
	for name, entries := range fields.Val() {
		s.Held, s.Owner, s.Mine = true, name, strings.HasPrefix(name, r.keeper.Process+":")
		s.Count, _ = strconv.Atoi(entries)
	}
	if !s.Held || expiry.Val() == -2 { // there is no such key: it ended between the two questions
		return State{}, nil
	}
	return s, nil
}

// ForceUnlock frees key, whatever its holder, and reports whether it was held. A holder that listens is notified, and its lease ends with
// [lockstrategy.ErrForced]; one that cannot listen loses it at its next renewal.
func (r *Lock) ForceUnlock(ctx context.Context, key string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timing.Request)
	defer cancel()
	freed, err := r.client.Del(ctx, key).Result()
	if err == nil && freed > 0 {
		err = r.client.Do(ctx, r.hub.PublishCommand(), script.Channel(key), "0").Err()
	}
	if err != nil {
		return freed > 0, fmt.Errorf("%w: force unlock of %s: %w", lockstrategy.ErrUnavailable, key, err)
	}
	return freed > 0, nil
}
