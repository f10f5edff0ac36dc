package lockstrategy

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// ReleaseListeners releases a lease, and returns the number of other processes that were notified.
func ReleaseListeners(ctx context.Context, lease *Lease) (int, error) { return lease.release(ctx) }

// Broken is a Redis lock in which one thing is wrong, for tests that must notice it.
type Broken struct {
	Name string
	Open func(Backends) (*Opened, error)
}

// BrokenLocks returns locks that a check must not let pass.
func BrokenLocks() []Broken {
	acquire := func(r *Redis) *script { return &r.acquireScript }
	release := func(r *Redis) *script { return &r.releaseScript }
	renew := func(r *Redis) *script { return &r.renewScript }
	return []Broken{
		{"release without compare", misspelt(release, releaseSource,
			"redis.call('hdel', KEYS[1], ARGV[1])", "redis.call('del', KEYS[1])")},
		{"acquire without NX", misspelt(acquire, acquireSource,
			"if redis.call('exists', KEYS[1]) == 1 and", "if false and")},
		{"renewal that creates the key", misspelt(renew, renewSource,
			"if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then\n  return {0}\nend", "redis.call('hset', KEYS[1], ARGV[2], 1)")},
		{"token that does not grow", misspelt(acquire, acquireSource,
			"local number = (time[1] - 946684800)", "local number = (2 ^ 32 - time[1])")},
		{"cohort that serves the last caller first", openLIFO},
	}
}

// misspelt opens the Redis lock with something else in a script. It says when the script no longer contains what was
// to be replaced: a lock without its fault would be caught by nothing.
func misspelt(which func(*Redis) *script, source, right, wrong string) func(Backends) (*Opened, error) {
	return func(b Backends) (*Opened, error) {
		if strings.Count(source, right) != 1 {
			return nil, fmt.Errorf("the script has not got %q once: follow its change here", right)
		}
		r, err := NewRedis(b.Redis, Timing{Expiry: b.Expiry, Request: b.Request})
		if err != nil {
			return nil, err
		}
		*which(r) = newScript("misspelt", strings.Replace(source, right, wrong, 1))
		return withCohort(r, b.HandOff)
	}
}

func openLIFO(b Backends) (*Opened, error) {
	opened, err := Open(NameRedis, b)
	if err == nil {
		opened.Strategy = lifo{opened.Cohort}
	}
	return opened, err
}

// lifo moves a caller that has just come to the front of the queue. It works in a synctest bubble only.
type lifo struct{ *Cohort }

func (l lifo) Acquire(ctx context.Context, key string, list ...Option) (*Lease, error) {
	go func() {
		time.Sleep(time.Nanosecond) // of the bubble: it passes when everybody waits, so the caller stands in the queue
		l.mu.Lock()
		defer l.mu.Unlock()
		if q := l.queues[key]; q != nil && q.callers.Len() > 1 {
			q.callers.MoveToFront(q.callers.Back())
		}
	}()
	return l.Cohort.Acquire(ctx, key, list...)
}
