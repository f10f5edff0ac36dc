package pageviews

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/pview"
)

// watchedLockViews is how many views two instances count under the watched lock. Nobody waits in a queue for it, so each view is tried
// again and again.
const watchedLockViews = 40

// watchedLock is a lock without a script and without SET NX: the key is set if it did not exist at WATCH, and has not been set since.
type watchedLock struct {
	*watchInstance
	owner string
	lease time.Duration
}

func (l watchedLock) tryLock(ctx context.Context) (granted bool, err error) {
	err = l.client.Watch(ctx, func(tx *redis.Tx) error {
		switch err := tx.Get(ctx, pview.LockKey).Err(); {
		case err == nil:
			return redis.TxFailedErr // another client has it
		case !errors.Is(err, redis.Nil):
			return err
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, pview.LockKey, l.owner, l.lease).Err() })
		return err
	}, pview.LockKey)
	if errors.Is(err, redis.TxFailedErr) {
		return false, nil
	}
	return err == nil, err
}

// unlock deletes the key if it is the owner's.
func (l watchedLock) unlock(ctx context.Context) error {
	return l.client.Watch(ctx, func(tx *redis.Tx) error {
		owner, err := tx.Get(ctx, pview.LockKey).Result()
		if err != nil || owner != l.owner {
			return errors.Join(fmt.Errorf("%q holds the lock, and not %s", owner, l.owner), err)
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, pview.LockKey).Err() })
		return err
	}, pview.LockKey)
}

// viewsUnderWatchedLock counts views by GET and SET under the lock. Its lease is longer than a trial.
func viewsUnderWatchedLock(ctx context.Context, x *clients.Redis) {
	both := startWatchInstances(x)
	var attempts atomic.Int64
	x.GoEach(watchedLockViews, func(n int) {
		l := watchedLock{both[n%2], fmt.Sprintf("request %d", n+1), x.Scaled(clients.LongLease)}
		record := func(kind history.Kind, key string, value int64) {
			x.Record(history.Event{Timeline: l.name, Owner: l.owner, Kind: kind, Key: key, Value: value})
		}
		record(history.Request, pview.LockKey, 0)
		for granted := false; !granted; {
			var err error
			attempts.Add(1)
			granted, err = l.tryLock(ctx)
			x.Must(err)
		}
		record(history.Grant, pview.LockKey, 0)
		written, err := nextView(ctx, l.client)
		x.Must(err)
		record(history.Read, pview.Key, written-1)
		x.Must(l.client.Set(ctx, pview.Key, written, 0).Err())
		record(history.Write, pview.Key, written)
		record(history.Release, pview.LockKey, 0)
		x.Must(l.unlock(ctx))
	})()
	x.Measure("both instances", 10*attempts.Load()/watchedLockViews, triesPerGrant)
	recordCounter(ctx, x)
}
