package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"golang.org/x/sync/errgroup"
)

// redlockKeeper keeps what a majority has granted.
type redlockKeeper struct {
	r        *RedLock
	mutex    *redsync.Mutex
	lease    time.Duration
	explicit bool // not to be renewed
	channel  string
}

var _ Keeper = (*redlockKeeper)(nil)

// Renew extends the lease on the nodes that still have it.
func (k *redlockKeeper) Renew(ctx context.Context) (time.Time, error) {
	if k.explicit {
		return k.mutex.Until(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.r.request)
	defer cancel()
	extended, err := k.mutex.ExtendContext(ctx)
	refused := new(redsync.ErrTaken) // by a majority; what the silent ones have, nobody knows
	switch {
	case extended:
		return k.mutex.Until(), nil
	case errors.As(err, &refused):
		return time.Time{}, fmt.Errorf("%w: no majority has %s: %w", ErrGone, k.mutex.Name(), err)
	}
	return time.Time{}, k.r.unavailable("renew", err)
}

// Watch never rings: nobody frees a quorum by force.
func (k *redlockKeeper) Watch() (ring <-chan struct{}, stop func()) { return nil, func() {} }

// Release frees the nodes and tells it. Without a majority that confirms, it goes on trying in the background.
func (k *redlockKeeper) Release(ctx context.Context, again bool) (time.Duration, error) {
	err := k.release(ctx)
	if errors.Is(err, ErrUnavailable) {
		k.r.undo.repeat(firstUndo, time.Now().Add(k.lease+k.r.request), k.release)
	}
	if heard := k.tell(ctx); heard && again {
		return lookAgain, err
	}
	return 0, err
}

func (k *redlockKeeper) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.r.request)
	defer cancel()
	released, err := k.mutex.UnlockContext(ctx)
	switch {
	case released:
		return nil
	case k.r.silent(err) > 0: // it may have released, and it may still have the key
		return k.r.unavailable("release", err)
	}
	return fmt.Errorf("%w: no majority had %s when it was released", ErrGone, k.mutex.Name())
}

// tell publishes the release on every node, and reports whether another process heard it: whoever releases
// does not listen.
func (k *redlockKeeper) tell(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.r.request)
	defer cancel()
	var heard atomic.Int64
	var group errgroup.Group
	for _, node := range k.r.nodes {
		group.Go(func() error {
			n, err := node.Publish(ctx, k.channel, "0").Result()
			heard.Add(n)
			return err
		})
	}
	_ = group.Wait() // a node that is away has nobody who listens
	return heard.Load() > 0
}
