package handlers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gin-gonic/gin"

	"locklab/lockstrategy"
)

// lockOf is v's lock for one request: with the wait that ?wait= asks for, or else with the instance's own. Nil: v has no lock.
func (a *api) lockOf(c *gin.Context, v Version) (Locker, error) {
	text, err := one(c, "wait")
	if err != nil {
		return nil, err
	}
	_, given := c.GetQuery("wait")
	wait := a.Wait
	if given {
		if wait, err = time.ParseDuration(text); err != nil || wait < 0 || wait > a.Wait {
			return nil, badRequest("wait is %.20q; it must be a duration from 0 to %s, such as 0, 250ms or 1.5s", text, a.Wait)
		}
	}
	switch {
	case v.Lock == nil:
		return nil, nil
	case given:
		return impatient{v.Lock.Within(wait)}, nil
	}
	return v.Lock.Within(wait), nil
}

// impatient is the lock of a request that asks for its wait. A lock that is not granted by then is an [errLocked]. Without such a
// request it stays what it is: 503.
type impatient struct{ Locker }

func (i impatient) Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error {
	err := i.Locker.Do(ctx, key, fn)
	if waitedTooLong(err) || errors.Is(err, lockstrategy.ErrTaken) {
		return fmt.Errorf("%w: %w", errLocked, err)
	}
	return err
}

// lockedAnswer is what the instance knows of the other client. Its name is not known: the owners of locks have random names.
type lockedAnswer struct {
	By      string   `json:"by"`                 // "this instance", "another client"; or "unknown": the wait was over before the first attempt
	LeaseMS *float64 `json:"lease_ms,omitempty"` // what is left of its lease, unless it renews that; absent: not known
}

func lockedBy(err error) lockedAnswer {
	holder := lockstrategy.OtherHolder{}
	switch {
	case !errors.As(err, &holder):
		return lockedAnswer{By: "unknown"}
	case holder.Here:
		return lockedAnswer{By: "this instance"}
	case holder.Left == 0:
		return lockedAnswer{By: "another client"}
	}
	left := milliseconds(holder.Left)
	return lockedAnswer{"another client", &left}
}
