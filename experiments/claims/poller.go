package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
)

// poller is a client's SET NX PX, asked again and again until it is granted: at once (it spins), or after a pause. It
// knows no queue. It stands behind a gate of its own, which has nobody else to serve, so that it is recorded like the rest.
type poller struct {
	redis redis.UniversalClient
	name  string
	pause time.Duration // between two attempts; 0: none
	lease time.Duration // not renewed
}

// Grant asks until it is granted or ctx ends.
func (p poller) Grant(ctx context.Context, key string, _ lockstrategy.Ask) (lockstrategy.Terms, error) {
	for {
		before := time.Now()
		switch err := p.redis.Do(ctx, "SET", key, p.name, "NX", "PX", p.lease.Milliseconds()).Err(); {
		case err == nil:
			return lockstrategy.Terms{Until: before.Add(p.lease), Keeper: polled{p, key, before.Add(p.lease)}}, nil
		case !errors.Is(err, redis.Nil):
			return lockstrategy.Terms{}, fmt.Errorf("%w: %w", lockstrategy.ErrNotAcquired, err)
		}
		if p.pause == 0 {
			continue // a context that has ended is the next attempt's error
		}
		select {
		case <-ctx.Done():
			return lockstrategy.Terms{}, fmt.Errorf("%w: %w", lockstrategy.ErrNotAcquired, ctx.Err())
		case <-time.After(p.pause):
		}
	}
}

// polled is a lock that a poller has.
type polled struct {
	poller
	key   string
	until time.Time
}

// Renew only says until when it is.
func (p polled) Renew(context.Context) (time.Time, error) { return p.until, nil }

// Release deletes the key if the poller's name is in it.
func (p polled) Release(ctx context.Context, _ bool) (time.Duration, error) {
	const compareAndDelete = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
	n, err := p.redis.Eval(ctx, compareAndDelete, []string{p.key}, p.name).Int()
	if err == nil && n == 0 {
		err = lockstrategy.ErrGone
	}
	return 0, err
}

// Watch has nothing to tell.
func (p polled) Watch() (<-chan struct{}, func()) { return nil, func() {} }
