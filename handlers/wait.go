package handlers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gin-gonic/gin"

	"locklab/lockstrategy"
)

// lockFor returns v's lock for one request. It waits as long as ?wait= says, or else as long as the instance allows. It returns nil if v
// has no lock.
func (a *api) lockFor(c *gin.Context, v Version) (Locker, error) {
	text, err := queryParam(c, "wait")
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
		return lockedReporter{v.Lock.Within(wait)}, nil
	}
	return v.Lock.Within(wait), nil
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
