package clients

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lockstrategy"
	"locklab/lockstrategy/session"
)

// CompareAndDelete is the release of a key of one client, as a script: it deletes nobody else's.
const CompareAndDelete = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

// Polling is a lock that a client tries again and again until it is granted. It has no queue, and is not renewed.
type Polling struct {
	Try     func(ctx context.Context, key string) (granted bool, err error)
	Release func(ctx context.Context, key string) (released bool, err error)
	Pause   time.Duration // between two attempts, at most; it is random, and half of that at least
	Lease   time.Duration

	keeper *session.Keeper
}

// Spin is the pause of a client that does not pause: the shortest that there is.
const Spin = time.Microsecond

// NewPolling returns a client of a polling lock. This file is the only one of the lab that implements a lock of its own.
func NewPolling(t *lab.Trial, name string, p Polling) *Client {
	p.keeper = session.NewKeeper()
	t.Cleanup(func() error { p.keeper.Close(); return nil })
	return NewClient(t, name, p)
}

// Acquire implements [lockstrategy.Strategy]. The lease is not renewed, whatever the options say.
func (p Polling) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	request, err := lockstrategy.NewRequest(options...)
	if err != nil {
		return nil, err
	}
	return p.keeper.Acquire(ctx, key, request, nil, func(ctx context.Context) (*session.Grant, time.Duration, error) {
		g := &session.Grant{Key: key, Asked: time.Now(), Expiry: p.Lease, Owner: p.release(key)}
		granted, err := p.Try(ctx, key)
		switch {
		case err != nil:
			return nil, 0, fmt.Errorf("%w: %w", lockstrategy.ErrUnavailable, err)
		case !granted:
			return nil, session.Jitter(p.Pause), lockstrategy.OtherHolder{}
		}
		return g, 0, nil
	})
}

func (p Polling) release(key string) session.ReleaseFunc {
	return func(ctx context.Context) error {
		released, err := p.Release(ctx, key)
		if err == nil && !released {
			err = lockstrategy.ErrGone
		}
		return err
	}
}

// PollingSET is the polling lock SET NX PX with the client's name as its value, released by comparison.
func PollingSET(conn redis.UniversalClient, name string, pause, lease time.Duration) Polling {
	return Polling{
		Try: func(ctx context.Context, key string) (bool, error) {
			err := conn.Do(ctx, "SET", key, name, "NX", "PX", lease.Milliseconds()).Err()
			if errors.Is(err, redis.Nil) {
				return false, nil
			}
			return err == nil, err
		},
		Release: func(ctx context.Context, key string) (bool, error) {
			n, err := conn.Eval(ctx, CompareAndDelete, []string{key}, name).Int()
			return n > 0, err
		},
		Pause: pause, Lease: lease,
	}
}
