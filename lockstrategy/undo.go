package lockstrategy

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Pauses between the attempts of an undo.
const (
	firstUndo = 100 * time.Millisecond
	slowUndo  = 2 * time.Second
)

// undo repeats, in the background, releases that no server confirmed: after a failover the new master
// would keep the lock until its lease ends, although nobody holds it.
//
// What is NOT guaranteed: that it succeeds before the process ends. Then the lease decides.
type undo struct {
	ctx     context.Context // ends with the strategy
	stop    context.CancelFunc
	mu      sync.Mutex // so that none begins while close waits
	running sync.WaitGroup
}

func newUndo() *undo {
	u := &undo{}
	u.ctx, u.stop = context.WithCancel(context.Background())
	return u
}

// repeat asks, first after a pause, until there is an answer or what it is about has surely expired.
func (u *undo) repeat(first time.Duration, expired time.Time, ask func(context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ctx.Err() != nil {
		return
	}
	u.running.Go(func() {
		ctx, cancel := context.WithDeadline(u.ctx, expired)
		defer cancel()
		pause := time.NewTimer(first)
		defer pause.Stop()
		for wait := max(first, firstUndo); ; pause.Reset(wait) {
			select {
			case <-ctx.Done():
				return
			case <-pause.C:
			}
			if err := ask(ctx); !errors.Is(err, ErrUnavailable) {
				return
			}
			wait = min(2*wait, slowUndo)
		}
	})
}

// close ends all of it and waits.
func (u *undo) close() {
	u.mu.Lock()
	u.stop()
	u.mu.Unlock()
	u.running.Wait()
}
