package handlers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/lockstrategy"
)

// waitParameter is how long a request waits for a lock.
type waitParameter struct {
	Wait *duration `form:"wait"`
}

type duration time.Duration

// UnmarshalParam implements [binding.BindUnmarshaler].
func (d *duration) UnmarshalParam(text string) error {
	value, err := time.ParseDuration(text)
	if err != nil || value < 0 {
		return errors.New("a duration, such as 0, 250ms or 1.5s")
	}
	*d = duration(value)
	return nil
}

// lockFor returns v's lock for one request. It waits as long as ?wait= says, or else as long as the instance allows. It returns nil if v
// has no lock.
func (a *api) lockFor(v Version, p waitParameter) (Locker, error) {
	switch {
	case p.Wait != nil && time.Duration(*p.Wait) > a.Wait:
		return nil, badRequest("wait is %s; it must be a duration from 0 to %s", time.Duration(*p.Wait), a.Wait)
	case v.Lock == nil:
		return nil, nil
	case p.Wait != nil:
		return lockedReporter{v.Lock.Within(time.Duration(*p.Wait))}, nil
	}
	return v.Lock.Within(a.Wait), nil
}

// lockedReporter is the lock of a request that sets ?wait=. If the lock is not granted in that time, the error is errLocked, which becomes
// a 423. A request that does not set it gets a 503.
type lockedReporter struct{ Locker }

func (l lockedReporter) Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error {
	err := l.Locker.Do(ctx, key, fn)
	if waitTimedOut(err) || errors.Is(err, lockstrategy.ErrTaken) {
		return fmt.Errorf("%w: %w", errLocked, err)
	}
	return err
}

// holderResponse is what the instance knows about the lock's holder. It has no name: lock owners have random names.
type holderResponse struct {
	By      string   `json:"by"`                 // "this instance", "another client", or "unknown": the wait ended before the first attempt
	LeaseMS *float64 `json:"lease_ms,omitempty"` // time left in the holder's lease, which it may renew; absent if not known
}

func holderOf(err error) holderResponse {
	holder := lockstrategy.OtherHolder{}
	switch {
	case !errors.As(err, &holder):
		return holderResponse{By: "unknown"}
	case holder.Here:
		return holderResponse{By: "this instance"}
	case holder.Left == 0:
		return holderResponse{By: "another client"}
	}
	left := milliseconds(holder.Left)
	return holderResponse{"another client", &left}
}
