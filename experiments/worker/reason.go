package worker

import (
	"context"
	"errors"

	"locklab/history"
	"locklab/lockstrategy"
)

// Reason is an error of a lock in the words of package history; of another error it is the error's own text.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	for _, known := range []struct {
		err  error
		text string
	}{
		{lockstrategy.ErrTaken, history.Taken},
		{lockstrategy.ErrExpired, history.Expired},
		{lockstrategy.ErrForced, history.Forced},
		{lockstrategy.ErrGone, history.Gone},
		{lockstrategy.ErrUnreachable, history.Unreachable},
		{lockstrategy.ErrUnavailable, history.Unavailable},
		{lockstrategy.ErrNotHeld, "not held"},
		{context.Canceled, history.Canceled},
		{context.DeadlineExceeded, history.Deadline},
	} {
		if errors.Is(err, known.err) {
			return known.text
		}
	}
	return err.Error()
}
