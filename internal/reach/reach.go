// Package reach waits for a server that may not be there yet.
package reach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Until repeats try until it succeeds, ctx ends, or hopeless says that the next try will fail, too. It waits for pause between two tries.
//
// hopeless returns what to do about an error, or nil when the next try is worth it; its error ends the wait. When ctx ends, the error is
// the last one without a timeout in it, if there was one. The end of ctx cuts the last try: a server that answers then seems silent.
func Until(ctx context.Context, pause time.Duration, try func(context.Context) error, hopeless func(error) error) error {
	for last := error(nil); ; {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if why := hopeless(err); why != nil {
			return why
		}
		if last == nil || !timedOut(err) {
			last = err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("not reached in time: %w", last)
		case <-timer.C:
		}
	}
}

// timedOut reports whether a timeout is the error, or one of those that it joins. A dial may end before its context says that it is over.
func timedOut(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}
