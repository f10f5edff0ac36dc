// Package session is what the locks share: it waits for a grant, keeps its lease, and gives back what was granted to nobody.
package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"locklab/lockstrategy"

	"github.com/google/uuid"
)

// Keeper is what the strategies share: it waits for a grant, keeps it, and gives back what was granted to nobody.
type Keeper struct {
	Process string        // the first half of the name of each owner in this process
	calls   atomic.Uint64 // the second half: decimal, as Redisson's thread id

	Life       context.Context // ends with Close
	end        context.CancelFunc
	mu         sync.Mutex
	background sync.WaitGroup
}

// NewKeeper returns a keeper for one strategy of this process.
func NewKeeper() *Keeper {
	k := &Keeper{Process: uuid.NewString()}
	k.Life, k.end = context.WithCancel(context.Background())
	return k
}

// NewName names an owner. No two owners have the same name.
func (k *Keeper) NewName() string { return k.Process + ":" + strconv.FormatUint(k.calls.Add(1), 10) }

// Close ends the repeated releases. Callers that wait, or ask from now on, get [lockstrategy.ErrUnavailable]. Leases that are held stay
// held, and can be released.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.end()
	k.mu.Unlock()
	k.background.Wait()
}

// Try asks a backend once for a key. Without a grant, err says why: an [lockstrategy.OtherHolder], or an error. again is the time after
// which to try again at the latest; 0: err is final.
type Try func(ctx context.Context) (g *Grant, again time.Duration, err error)

// Acquire tries until key is granted, ctx ends, or the keeper is closed. It tries again after a time, and when wake receives; nil: nobody
// notifies it.
func (k *Keeper) Acquire(
	ctx context.Context, key string, request lockstrategy.Request, wake <-chan struct{}, try Try,
) (*lockstrategy.Lease, error) {
	ctx, cancel := request.Within(ctx)
	defer cancel()
	for refused := error(nil); ; {
		if err := k.checkWait(ctx, refused); err != nil {
			return nil, lockstrategy.NotAcquired(key, err)
		}
		var g *Grant
		var again time.Duration
		g, again, refused = try(ctx)
		switch {
		case g != nil:
			return k.Keep(ctx, request, *g)
		case again == 0:
			return nil, lockstrategy.NotAcquired(key, refused)
		case request.Once:
			return nil, lockstrategy.NotAcquired(key, refusalOf(refused))
		}
		refused = k.pause(ctx, again, wake, refused)
	}
}

// checkWait says why there is no other try; nil: there is one. refused is why the last one was not granted; nil: there was none.
func (k *Keeper) checkWait(ctx context.Context, refused error) error {
	switch {
	case k.Life.Err() != nil:
		return lockstrategy.ErrClosed
	case ctx.Err() == nil:
		return nil
	case refused == nil:
		return lockstrategy.EndOf(ctx)
	}
	return fmt.Errorf("%w: %w", lockstrategy.EndOf(ctx), refused)
}

// pause waits for the next try. It returns what refused says at its end.
func (k *Keeper) pause(ctx context.Context, most time.Duration, wake <-chan struct{}, refused error) error {
	began, timer := time.Now(), time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	case <-k.Life.Done():
	case <-ctx.Done():
	}
	if other := (lockstrategy.OtherHolder{}); errors.As(refused, &other) {
		other.Left = max(0, other.Left-time.Since(began))
		return other
	}
	return refused
}

// refusalOf is the error of a caller that tries once and is refused: by a holder, or by a server.
func refusalOf(refused error) error {
	if errors.As(refused, new(lockstrategy.OtherHolder)) {
		return fmt.Errorf("%w: %w", lockstrategy.ErrTaken, refused)
	}
	return refused
}

// Jitter is the random pause of a caller that polls: interval at most, and half of it at least.
func Jitter(interval time.Duration) time.Duration { return interval/2 + rand.N(interval/2) }

// Wake wakes a caller that waits, unless a wake-up is pending.
func Wake(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// Polled implements [lockstrategy.Yielder] for a backend that notifies nobody: those that wait poll, at this interval at most.
type Polled time.Duration

// Others implements [lockstrategy.Yielder]: nobody can tell.
func (Polled) Others() int { return -1 }

// Yield implements [lockstrategy.Yielder]. It waits for a little longer than a poll.
func (p Polled) Yield(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(p) * 6 / 5):
	}
}

// InBackground runs f, unless the keeper is closed. Close waits for it.
func (k *Keeper) InBackground(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.Life.Err() == nil {
		k.background.Go(f)
	}
}

// GiveBack releases a grant that nobody has, or that may exist: its answer was lost. It repeats the release in the background until the
// server confirms it. It stops after two leases, and not before six seconds: some servers keep a short lease for three. A grant without an
// expiry is released until Close. Pauses spare a server that is away.
func (k *Keeper) GiveBack(g Grant) {
	k.InBackground(func() {
		ctx, cancel := k.Life, func() {}
		if g.Expiry > 0 {
			ctx, cancel = context.WithTimeout(ctx, 2*max(g.Expiry, 3*time.Second))
		}
		defer cancel()
		for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
			if err := g.Owner.Release(ctx); !errors.Is(err, lockstrategy.ErrUnavailable) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	})
}
