package lockstrategy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/lockstrategy/pubsub"
)

const (
	// A caller that lets n others go first tries nevertheless after n times probeAfter without a notification, and after longestProbe
	// at the latest. So a listener that has died costs milliseconds (row 8 × 1 of docs/benchmark.md).
	probeAfter   = 3 * time.Millisecond
	longestProbe = 50 * time.Millisecond
	pollInterval = 50 * time.Millisecond // between two tries of a waiter that is not subscribed (TestAWaiterThatIsNotSubscribedPolls)
)

var errClosed = fmt.Errorf("%w: this strategy has been closed", ErrUnavailable)

// waiter decides when a caller that waits tries again: when a release is notified, and after a time at the latest. A notification
// is a hint that may get lost; the time decides.
type waiter struct {
	hubs     []*pubsub.Hub // one for each server; none: this waiter polls, or is woken by its strategy
	channel  string
	life     context.Context // of the strategy: it ends when that is closed
	interval time.Duration   // between two tries of a caller that is not subscribed
	yield    int             // releases by other processes to let pass first; see Request.Others

	wake  chan struct{}
	probe time.Duration
	stops []func()
}

// acquire tries until key is granted. try returns a lease, or the longest time, above 0, to wait for a notification.
func (w *waiter) acquire(ctx context.Context, key string, opts []Option, try func(Request) (*Lease, time.Duration, error)) (*Lease, error) {
	request, err := NewRequest(opts...)
	if err != nil {
		return nil, notAcquired(key, err)
	}
	ctx, cancel := request.within(ctx)
	defer cancel()
	defer w.stop()
	w.yield = request.Others
	for most := time.Duration(0); ; {
		if err := w.wait(ctx, most); err != nil {
			return nil, notAcquired(key, err)
		}
		var lease *Lease
		lease, most, err = try(request)
		switch {
		case err != nil:
			return nil, notAcquired(key, err)
		case lease != nil:
			return lease, nil
		case request.Once:
			return nil, notAcquired(key, ErrTaken)
		}
	}
}

// wait returns when it is time to try, or why that is pointless. most is the longest time; 0: this is the first try.
func (w *waiter) wait(ctx context.Context, most time.Duration) error {
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case w.life.Err() != nil:
		return errClosed
	case most == 0 && w.yield == 0:
		return nil
	}
	if w.yield != Unknown { // Unknown: the others poll, so a pause is enough
		w.listen()
	}
	timer := time.NewTimer(w.timeout(most))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ended(ctx)
		case <-w.life.Done():
			return errClosed
		case <-w.wake:
			if !w.yields() {
				return nil
			}
			timer.Reset(w.probe) // another process has released: one more probe
		case <-timer.C:
			return nil
		}
	}
}

// listen begins to listen to every server, the first time.
func (w *waiter) listen() {
	if w.wake != nil {
		return
	}
	w.wake, w.probe = make(chan struct{}, 1), min(probeAfter*time.Duration(max(1, w.yield)), longestProbe)
	for _, hub := range w.hubs {
		w.stops = append(w.stops, hub.Listen(w.channel, func(bool) {
			select {
			case w.wake <- struct{}{}:
			default: // it is awake already
			}
		}))
		hub.TryPublish(w.channel)
	}
}

func (w *waiter) stop() {
	for _, stop := range w.stops {
		stop()
	}
}

// yields reports whether to go on waiting: since this process released last, the others have released fewer than w.yield times.
func (w *waiter) yields() bool {
	passed := 0
	for _, hub := range w.hubs {
		passed = max(passed, hub.Others(w.channel))
	}
	return passed < w.yield
}

// subscribed reports whether a release is notified.
func (w *waiter) subscribed() bool {
	return slices.ContainsFunc(w.hubs, func(hub *pubsub.Hub) bool { return hub.Subscribed(w.channel) })
}

// timeout is the longest wait for a notification. most: see wait.
func (w *waiter) timeout(most time.Duration) time.Duration {
	switch {
	case w.yield == Unknown: // they poll
		w.yield = 0
		return w.interval + w.interval/5
	case most == 0: // whether another holds the lock is not known
		return w.probe
	case !w.subscribed():
		return min(w.interval/2+rand.N(w.interval/2), most)
	}
	return most
}
