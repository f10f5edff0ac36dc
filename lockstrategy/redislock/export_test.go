package redislock

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
	"locklab/lockstrategy/redislock/script"
)

// Broken is a Redis lock in which one thing is wrong, for tests that must notice it.
type Broken struct {
	Name string
	Open func(redis.UniversalClient, lockstrategy.Timing) (*Lock, error)
}

// BrokenLocks returns locks that a check must not let pass.
func BrokenLocks() []Broken {
	acquire := func(r *Lock) **redis.Script { return &r.acquireScript }
	release := func(r *Lock) **redis.Script { return &r.releaseScript }
	renew := func(r *Lock) **redis.Script { return &r.renewScript }
	return []Broken{
		{"release without compare", misspelt(release, script.Release,
			"redis.call('hdel', KEYS[1], ARGV[1])", "redis.call('del', KEYS[1])")},
		{"acquire without NX", misspelt(acquire, script.Acquire,
			"if redis.call('exists', KEYS[1]) == 1 and", "if false and")},
		{"renewal that creates the key", misspelt(renew, script.Renew,
			"if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then\n  return {0}\nend", "redis.call('hset', KEYS[1], ARGV[2], 1)")},
		{"token that does not grow", misspelt(acquire, script.Acquire,
			"local number = (time[1] - 946684800)", "local number = (2 ^ 32 - time[1])")},
	}
}

// misspelt opens the Redis lock with something else in a script. It says when the script no longer contains what was
// to be replaced: a lock without its fault would be caught by nothing.
func misspelt(
	which func(*Lock) **redis.Script, source, right, wrong string,
) func(redis.UniversalClient, lockstrategy.Timing) (*Lock, error) {
	return func(client redis.UniversalClient, timing lockstrategy.Timing) (*Lock, error) {
		if strings.Count(source, right) != 1 {
			return nil, fmt.Errorf("the script has not got %q once: follow its change here", right)
		}
		r, err := New(client, timing)
		if err == nil {
			*which(r) = redis.NewScript(strings.Replace(source, right, wrong, 1))
		}
		return r, err
	}
}
