package kit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/lockstrategy"
)

// Polling is a lock that a client tries again and again until it is granted. It has no queue, and is not renewed.
type Polling struct {
	Try     func(ctx context.Context, key string) (granted bool, err error)
	Release func(ctx context.Context, key string) (released bool, err error)
	Pause   time.Duration // between two attempts; 0: none
	Lease   time.Duration
}

// NewPolling returns a client of a polling lock. This file is the only one of the lab that implements a lock of its own.
func NewPolling(t *experiments.Trial, name string, p Polling) *Client {
	lock, err := lockstrategy.NewCohort(p, lockstrategy.HandOff{}) // a process of its own: the cohort has one client
	t.Must(err)
	return NewClient(t, name, lock)
}

// Grant implements [lockstrategy.Backend].
func (p Polling) Grant(ctx context.Context, key string, ask lockstrategy.Ask) (lockstrategy.Terms, error) {
	for {
		sent := time.Now()
		granted, err := p.Try(ctx, key)
		switch {
		case granted:
			until := sent.Add(p.Lease)
			return lockstrategy.Terms{Until: until, Keeper: polled{p, key, until}}, nil
		case err != nil:
			err = fmt.Errorf("%w: %w", lockstrategy.ErrUnavailable, err)
		case ask.AtOnce:
			err = lockstrategy.ErrTaken
		}
		if err != nil {
			return lockstrategy.Terms{}, fmt.Errorf("%w: %w", lockstrategy.ErrNotAcquired, err)
		}
		if p.Pause == 0 {
			continue // the next attempt returns the error of a context that has ended
		}
		select {
		case <-ctx.Done():
			return lockstrategy.Terms{}, fmt.Errorf("%w: %w", lockstrategy.ErrNotAcquired, ctx.Err())
		case <-time.After(p.Pause):
		}
	}
}

// polled is a grant of a polling lock.
type polled struct {
	Polling
	key   string
	until time.Time
}

// Renew returns the end of the lease, which is not renewed.
func (p polled) Renew(context.Context) (time.Time, error) { return p.until, nil }

// Release releases the lock.
func (p polled) Release(ctx context.Context, _ bool) (time.Duration, error) {
	released, err := p.Polling.Release(ctx, p.key)
	if err == nil && !released {
		err = lockstrategy.ErrGone
	}
	return 0, err
}

// Watch never notifies.
func (p polled) Watch() (<-chan struct{}, func()) { return nil, func() {} }

// PollingSET is the polling lock SET NX PX with the client's name as its value, released by comparison.
func PollingSET(conn redis.UniversalClient, name string, pause, lease time.Duration) Polling {
	const compareAndDelete = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
	return Polling{
		Try: func(ctx context.Context, key string) (bool, error) {
			err := conn.Do(ctx, "SET", key, name, "NX", "PX", lease.Milliseconds()).Err()
			if errors.Is(err, redis.Nil) {
				return false, nil
			}
			return err == nil, err
		},
		Release: func(ctx context.Context, key string) (bool, error) {
			n, err := conn.Eval(ctx, compareAndDelete, []string{key}, name).Int()
			return n > 0, err
		},
		Pause: pause, Lease: lease,
	}
}
