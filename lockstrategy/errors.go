package lockstrategy

import (
	"context"
	"errors"
	"fmt"
)

// ErrNotAcquired says that the wait for a lock ended without it. The error that carries it also
// wraps the reason: the context's own error, [ErrTaken], or [ErrUnavailable].
var ErrNotAcquired = errors.New("lock: not acquired")

// ErrTaken answers an attempt that was not to wait: another holds the key.
var ErrTaken = errors.New("lock: another holds it")

// ErrUnavailable says that the lock's server gave no usable answer. Whether it executed the
// request is unknown; what it may have granted has been undone as far as it could be reached, and
// ends with its lease otherwise.
var ErrUnavailable = errors.New("lock: server unavailable")

// ErrNotHeld answers the release of what is not held: a second release of the same lease.
var ErrNotHeld = errors.New("lock: not held")

// ErrLost says that a lease ended before its holder released it. Another holder may be at work.
// The cause of a lost lease's context is one of the four errors below, and each of them is an ErrLost.
var ErrLost = errors.New("lock: lease lost")

// Causes of a loss.
var (
	// ErrExpired: the time that was asked for is over, or the holder did not run when it should have renewed.
	ErrExpired = fmt.Errorf("%w: its time is over", ErrLost)
	// ErrForced: the lock was freed by force, and the holder was told.
	ErrForced = fmt.Errorf("%w: it was freed by force", ErrLost)
	// ErrGone: the server no longer has the lock as the holder's: it was deleted, evicted, or lost in a failover.
	ErrGone = fmt.Errorf("%w: the server no longer has it as this holder's", ErrLost)
	// ErrUnreachable: no renewal was confirmed before the lease's end.
	ErrUnreachable = fmt.Errorf("%w: no renewal was confirmed in time", ErrLost)
)

// notAcquired joins the domain's error with its cause, so that errors.Is finds both.
func notAcquired(key string, cause error) error {
	return fmt.Errorf("%w: %s: %w", ErrNotAcquired, key, cause)
}

// ended says why ctx ended: its cause, and in any case its own error.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
