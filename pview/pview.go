// Package pview counts page views (A4): one number in Redis that two instances increment.
//
// [Counter.Increment] reads the number, adds one and writes it back: two round trips, nothing
// between them and nothing atomic. Run beside itself it loses updates, and that is its purpose: a
// lock around it is what the lab tries. [Counter.IncrementAtomic] is one INCR, which needs no lock.
//
// What is NOT guaranteed: a request without an answer may have been counted. The fence is reported
// and not checked yet, so a holder that lost its lease may still write.
package pview

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Names on the wire. Other programs that count or lock with us use them.
const (
	Key     = "pview"      // the counter, a decimal number
	LockKey = "lock:pview" // what to lock around an increment
)

// ErrUnavailable says that Redis gave no usable answer. Whether the view was counted is unknown.
var ErrUnavailable = errors.New("pview: redis unavailable")

// ErrNotNumber says that the counter's key holds something that is not a number.
var ErrNotNumber = errors.New("pview: the counter is not a number")

// Locker runs fn while it holds key. fn's context ends when the lock is lost.
type Locker interface {
	Do(ctx context.Context, key string, fn func(ctx context.Context, fence uint64) error) error
}

// View is one counted page view.
type View struct {
	Value  int64         // what was written
	Waited time.Duration // for the lock
	Held   time.Duration // from the grant until the work was done
	Fence  uint64        // of the lease; 0: none was issued
}

// Counter counts page views in one Redis key.
type Counter struct {
	master  redis.Cmdable
	replica func() redis.UniversalClient
}

// NewCounter returns a counter that reads and writes at master. replica says where to read when
// an old value will do.
func NewCounter(master redis.Cmdable, replica func() redis.UniversalClient) *Counter {
	return &Counter{master: master, replica: replica}
}

// Increment reads the counter, adds one and writes it, inside lock.
func (c *Counter) Increment(ctx context.Context, lock Locker) (View, error) {
	var view View
	asked := time.Now()
	err := lock.Do(ctx, LockKey, func(ctx context.Context, fence uint64) error {
		granted := time.Now()
		defer func() { view.Held = time.Since(granted) }()
		view.Waited, view.Fence = granted.Sub(asked), fence

		value, err := get(ctx, c.master)
		if err != nil {
			return err
		}
		view.Value = value + 1
		return c.Set(ctx, view.Value)
	})
	return view, err
}

// IncrementAtomic adds one in one command: the counter that needs no lock.
func (c *Counter) IncrementAtomic(ctx context.Context) (View, error) {
	value, err := c.master.Incr(ctx, Key).Result()
	return View{Value: value}, answered(ctx, err)
}

// Get reads the counter. A counter that does not exist is 0.
func (c *Counter) Get(ctx context.Context) (int64, error) { return get(ctx, c.master) }

// GetStale reads the counter from a replica, where the topology has any. The value may be old.
func (c *Counter) GetStale(ctx context.Context) (int64, error) { return get(ctx, c.replica()) }

// Set writes the counter.
func (c *Counter) Set(ctx context.Context, value int64) error {
	return answered(ctx, c.master.Set(ctx, Key, value, 0).Err())
}

func get(ctx context.Context, from redis.Cmdable) (int64, error) {
	text, err := from.Get(ctx, Key).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, answered(ctx, err)
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q", ErrNotNumber, text)
	}
	return value, nil
}

// answered turns a command's error into one of this package's.
func answered(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil: // not Redis's fault: the caller left, or the lock was lost
		return errors.Join(ctx.Err(), context.Cause(ctx), err)
	case redis.HasErrorPrefix(err, "WRONGTYPE"), redis.HasErrorPrefix(err, "value is not an integer"): // go-redis cuts "ERR " off
		return fmt.Errorf("%w: %w", ErrNotNumber, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
