package lockstrategy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Broken is a Redis lock in which one thing is wrong, for tests that must notice it.
type Broken struct {
	Name string
	Open func(Backends) (*Opened, error)
}

// BrokenLocks returns locks that a check must not let pass.
func BrokenLocks() []Broken {
	acquire := func(s *scripts) **redis.Script { return &s.acquire }
	release := func(s *scripts) **redis.Script { return &s.release }
	renew := func(s *scripts) **redis.Script { return &s.renew }
	return []Broken{
		{"release without compare", misspelt(release, freeSource+releaseSource,
			"redis.call('hdel', KEYS[1], ARGV[5])", "redis.call('del', KEYS[1])")},
		{"acquire without NX", misspelt(acquire, acquireSource,
			"if redis.call('exists', KEYS[1]) == 1 then", "if false then")},
		{"renewal that creates the key", misspelt(renew, renewSource,
			"if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then\n  return {0}\nend", "redis.call('hset', KEYS[1], ARGV[2], 1)")},
		{"fence that does not grow", misspelt(acquire, acquireSource,
			"math.max(now(), last + 1)", "1000000")},
		{"gate that serves who came last", openLIFO},
	}
}

// misspelt opens the Redis lock with something else in a script. It says when the script no longer contains what was
// to be replaced: a broken lock that is not broken would be caught by nothing.
func misspelt(script func(*scripts) **redis.Script, source, right, wrong string) func(Backends) (*Opened, error) {
	return func(b Backends) (*Opened, error) {
		if strings.Count(source, right) != 1 {
			return nil, fmt.Errorf("the script has not got %q once: follow its change here", right)
		}
		r, err := NewRedis(b.Redis, RedisConfig{Lease: b.Lease, Request: b.Request})
		if err != nil {
			return nil, err
		}
		*script(&r.scripts) = redis.NewScript(strings.Replace(source, right, wrong, 1))
		opened, err := gated(r, r.Close, b.HandOff)
		if err == nil {
			opened.Admin = r
		}
		return opened, err
	}
}

func openLIFO(b Backends) (*Opened, error) {
	opened, err := Open(NameRedis, b)
	if err == nil {
		opened.Strategy = lifo{opened.Cohort}
	}
	return opened, err
}

// lifo moves everybody to the front of the queue who has just come. It works in a synctest bubble only.
type lifo struct{ *Cohort }

func (l lifo) Acquire(ctx context.Context, key string, list ...Option) (*Lease, error) {
	go func() {
		time.Sleep(time.Nanosecond) // of the bubble: it passes when everybody waits, so the caller stands in the queue
		l.mu.Lock()
		defer l.mu.Unlock()
		q := l.queues[key]
		if q == nil || q.len < 2 {
			return
		}
		w := q.last
		q.remove(w)
		w.next, q.first.prev = q.first, w
		q.first = w
		q.len++
	}()
	return l.Cohort.Acquire(ctx, key, list...)
}
