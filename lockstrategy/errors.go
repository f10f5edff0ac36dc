package lockstrategy

import "errors"

// ErrNotAcquired says that the wait for a lock ended without it. The error that carries it also
// wraps the reason: the context's own error, or [ErrUnavailable].
var ErrNotAcquired = errors.New("lock: not acquired")

// ErrLost says that a lease ended before its holder released it: it could not be renewed in time,
// or the backend no longer knows its owner. Another holder may be at work.
var ErrLost = errors.New("lock: lease lost")

// ErrNotHeld answers a second release of the same lease.
var ErrNotHeld = errors.New("lock: not held")

// ErrUnavailable says that the lock's server gave no usable answer. Whether it executed the
// request is unknown; what it may have granted has been undone as far as it could be reached, and
// ends with its lease otherwise.
var ErrUnavailable = errors.New("lock: server unavailable")
