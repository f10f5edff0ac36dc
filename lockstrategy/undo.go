package lockstrategy

import (
	"context"
	"errors"
	"net"
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

// until repeats release until it is answered or the lock has surely expired.
func (u *undo) until(expired time.Time, release func(context.Context) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ctx.Err() != nil {
		return
	}
	u.running.Go(func() {
		ctx, cancel := context.WithDeadline(u.ctx, expired)
		defer cancel()
		pause := time.NewTimer(firstUndo)
		defer pause.Stop()
		for wait := firstUndo; ; pause.Reset(wait) {
			select {
			case <-ctx.Done():
				return
			case <-pause.C:
			}
			if err := release(ctx); !errors.Is(err, ErrUnavailable) {
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

// unsent reports whether a request has surely not reached its server: there was no connection.
func unsent(err error) bool {
	op := new(net.OpError)
	return errors.As(err, &op) && op.Op == "dial"
}
