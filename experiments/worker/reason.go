package worker

import (
	"context"
	"errors"

	"locklab/lockstrategy"
)

// Reason is an error in a few words.
func Reason(err error) string {
	for _, known := range []struct {
		err  error
		says string
	}{
		{nil, ""},
		{lockstrategy.ErrTaken, "another has it"},
		{lockstrategy.ErrExpired, "its time is over"},
		{lockstrategy.ErrForced, "freed by force"},
		{lockstrategy.ErrGone, "the server no longer has it"},
		{lockstrategy.ErrUnreachable, "no renewal was confirmed"},
		{lockstrategy.ErrUnavailable, "no answer from the server"},
		{lockstrategy.ErrNotHeld, "not held"},
		{context.Canceled, "released"},
		{context.DeadlineExceeded, "waited too long"},
	} {
		if known.err == nil && err == nil || known.err != nil && errors.Is(err, known.err) {
			return known.says
		}
	}
	return err.Error()
}
