package lockstrategy

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Broken is a Redis lock in which one thing is wrong, for tests that must notice it.
type Broken struct {
	Name   string
	script func(*scripts) **redis.Script
	source string
	right  string // what stands in the script,
	wrong  string // and what is to stand there
}

// BrokenLocks returns locks that a check must not let pass.
func BrokenLocks() []Broken {
	acquire := func(s *scripts) **redis.Script { return &s.acquire }
	return []Broken{
		{"release without compare", func(s *scripts) **redis.Script { return &s.release }, freeSource + releaseSource,
			"if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then", "if redis.call('exists', KEYS[1]) == 0 then"},
		{"acquire without NX", acquire, acquireSource,
			"if redis.call('exists', KEYS[1]) == 1 then", "if false then"},
		{"renewal that creates the key", func(s *scripts) **redis.Script { return &s.renew }, renewSource,
			"if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then\n  return {0}\nend", "redis.call('hset', KEYS[1], ARGV[2], 1)"},
		{"fence that does not grow", acquire, acquireSource,
			"math.max(now, last + 1)", "1000000"},
	}
}

// Open is [Open] of the Redis lock, with the wrong script. It says when the right one no longer
// contains what was to be replaced.
func (b Broken) Open(with Backends) (*Opened, error) {
	if strings.Count(b.source, b.right) != 1 {
		return nil, fmt.Errorf("%s: the script has not got %q once: follow its change here", b.Name, b.right)
	}
	r, err := NewRedis(with.Redis, RedisConfig{Lease: with.Lease, Request: with.Request})
	if err != nil {
		return nil, err
	}
	*b.script(&r.scripts) = redis.NewScript(strings.Replace(b.source, b.right, b.wrong, 1))
	opened, err := gated(r, r.Close, with.HandOff)
	if err == nil {
		opened.Admin = r
	}
	return opened, err
}
