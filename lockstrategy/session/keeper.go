// Package session is what the locks share. A [Keeper] waits for a grant, renews its lease, and tells the holder of a loss. It repeats
// releases in the background: of a lease that was lost, of one whose release was not confirmed, and of a grant whose answer was lost.
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

	"github.com/google/uuid"

	"locklab/lockstrategy"
)

// Keeper serves all callers of one strategy in this process.
type Keeper struct {
	Process string        // the first part of the name of each owner, before the colon
	calls   atomic.Uint64 // the second part, in decimal: where Redisson has the id of a thread

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

// Try asks a backend once for a key. Without a grant, err says why: it is an [lockstrategy.OtherHolder] or another error. After again,
// Acquire tries once more; if again is 0, err is final.
type Try func(ctx context.Context) (g *Grant, again time.Duration, err error)

// Acquire tries until key is granted, ctx ends, or the keeper is closed. It tries again when a value comes from wake, and at the latest
// after the time that try returned. wake is nil where nobody notifies.
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
		waited := k.pause(ctx, again, wake)
		refused = after(waited, refused)
	}
}

// checkWait returns why there is no other try, or nil if there is one. refused is why the last try was not granted; it is nil before the
// first.
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

// pause waits for the next try, and returns for how long.
func (k *Keeper) pause(ctx context.Context, most time.Duration, wake <-chan struct{}) time.Duration {
	began, timer := time.Now(), time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	case <-k.Life.Done():
	case <-ctx.Done():
	}
	return time.Since(began)
}

// after is a refusal as it reads after a wait: less is left of the other's lease.
func after(waited time.Duration, refused error) error {
	if other := (lockstrategy.OtherHolder{}); errors.As(refused, &other) {
		other.Left = max(0, other.Left-waited)
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

// GiveBack releases a grant in the background: one that nobody holds any more, or one that may exist because its answer was lost. It
// repeats the release until the server confirms it. For a grant that is Unanswered, ErrGone is no confirmation: the acquire may still
// arrive, so the release is repeated until it finds the key. It stops after two leases, and not before six seconds, because Memcached and
// etcd round short leases up. Without an expiry it stops at Close. The pauses grow, to spare a server that is away.
func (k *Keeper) GiveBack(g Grant) {
	k.InBackground(func() {
		ctx, cancel := k.Life, func() {}
		if g.Expiry > 0 {
			ctx, cancel = context.WithTimeout(ctx, 2*max(g.Expiry, 3*time.Second))
		}
		defer cancel()
		for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
			err := g.Owner.Release(ctx)
			late := g.Unanswered && errors.Is(err, lockstrategy.ErrGone)
			if !late && !errors.Is(err, lockstrategy.ErrUnavailable) {
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
