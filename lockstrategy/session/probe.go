package session

import (
	"context"
	"errors"
	"time"

	"locklab/lockstrategy"
)

// Step is a part of the work of a lock.
type Step string

// The steps of a probe. Without the last one waiters poll. Without one of the others there is no lock.
const (
	Acquire Step = "acquire"
	Renew   Step = "renew"
	Release Step = "release"
	Notify  Step = "notify"
)

// Probe tries a lock. It acquires key, asks for it as another owner, renews and releases it, publishes and subscribes. So each command
// of the strategy is executed. It returns the first step that failed, and the error. A key that is held counts as granted: an earlier probe
// took it. strategy is without its queue, which would answer the second request itself.
func Probe(ctx context.Context, strategy lockstrategy.Strategy, key string) (Step, error) {
	options := []lockstrategy.Option{lockstrategy.TryOnce(), lockstrategy.LeaseFor(2 * time.Second)} // some servers count whole seconds
	lease, err := strategy.Acquire(ctx, key, options...)
	if err != nil {
		return Acquire, unless(err, lockstrategy.ErrTaken)
	}
	step := Acquire
	other, err := strategy.Acquire(ctx, key, options...)
	if err == nil {
		_ = other.Release(ctx) // the first lease has ended meanwhile
	}
	err = unless(err, lockstrategy.ErrTaken)
	if s, ok := lease.Holder().(*session); ok && err == nil {
		step, err = Renew, s.Owner.Renew(ctx)
	}
	if failed := lease.Release(ctx); err == nil {
		step, err = Release, failed
	}
	if n, ok := strategy.(interface {
		TryNotify(ctx context.Context, key string) error
	}); ok && err == nil {
		step, err = Notify, n.TryNotify(ctx, key)
	}
	return step, unless(err, lockstrategy.ErrLost) // somebody has deleted the key, or this process was slow
}

// unless is err, or nil if that wraps expected.
func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
