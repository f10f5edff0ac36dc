package lockstrategy

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/lockstrategy/pubsub"
)

const (
	pollInterval = 50 * time.Millisecond // the longest pause of a waiter that is not subscribed (TestAWaiterThatIsNotSubscribedPolls)
	longestWait  = time.Second           // of one that is: the cost of a lost message (TestTheRightToPublishIsTakenAwayFromAll)
)

// notifier is a strategy that notifies waiters. [Probe] publishes and subscribes with it.
type notifier interface {
	tryNotify(ctx context.Context, key string) error
}

// waiter decides when Acquire tries again: when a release is notified, and after a time at the latest. Notifications may get lost, so the
// time decides.
type waiter struct {
	hubs     []*pubsub.Hub   // one for each server; none: this waiter polls, or its strategy wakes it
	channel  string          // on which releases are published
	life     context.Context // of the strategy: it ends when that is closed
	interval time.Duration   // the longest pause of a caller that is not subscribed

	until    time.Time // when the other holder's lease ends unless it is renewed, according to the last try; zero: not known
	failing  error     // the error of the last try; nil: the server executed it
	yielding yielding
	wake     chan struct{}
	stops    []func()
}

// tried notes the result of a try. left is the rest of the other holder's lease.
func (w *waiter) tried(request Request, left time.Duration, err error) {
	w.until, w.failing = time.Now().Add(left), err
	if request.Tried != nil {
		request.Tried(err)
	}
}

// other describes the client that had the key at the last try.
func (w *waiter) other() OtherHolder { return OtherHolder{Left: max(0, time.Until(w.until))} }

// taken is the error of a caller that tries once.
func (w *waiter) taken() error { return fmt.Errorf("%w: %w", ErrTaken, w.other()) }

// yield pays the debt of the caller before its first try (yield.go). The error says that this try is pointless.
func (w *waiter) yield(ctx context.Context, releases int) error {
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case w.life.Err() != nil:
		return errClosed
	case releases == 0:
		return nil
	}
	w.yielding = yielding(releases)
	if w.yielding.listens() {
		w.listen()
	}
	_, err := w.sleep(ctx, w.yielding.pause(w.interval))
	return err
}

// wait waits for a notification after a try that was not granted, for most or, where messages may get lost, for less. 0: most is not known.
// The error says that another try is pointless.
func (w *waiter) wait(ctx context.Context, most time.Duration) error {
	w.listen()
	most = cmp.Or(most, longestWait)
	subscribed := w.subscribed()
	if subscribed {
		most = min(most, longestWait)
	} else {
		most = min(most, w.interval/2+rand.N(w.interval/2))
	}
	silent, err := w.sleep(ctx, most)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", err, cmp.Or(w.failing, error(w.other())))
	case silent && subscribed && most > w.interval: // a shorter wait is a poll already
		// The right to publish may have been taken away since it was tried. Then this process polls from its next try on. Otherwise each
		// try that finds the key held again would cost longestWait, or a lease that is shorter (TestTheRightToPublishIsTakenAwayFromAll).
		for _, hub := range w.hubs {
			hub.TryPublishAgain(w.channel)
		}
	}
	return nil
}

// sleep returns after most, or when a notification comes and the debt is paid. A notification before the debt is paid starts the time of
// another probe instead. silent: no notification came. The error says that another try is pointless.
func (w *waiter) sleep(ctx context.Context, most time.Duration) (silent bool, err error) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for silent = true; ; silent = false {
		select {
		case <-ctx.Done():
			return false, ended(ctx)
		case <-w.life.Done():
			return false, errClosed
		case <-timer.C:
			return silent, nil
		case <-w.wake:
			if w.yielding.paid(w.passed()) {
				return false, nil
			}
			timer.Reset(w.yielding.pause(w.interval))
		}
	}
}

// listen subscribes on every server. Later calls do nothing.
func (w *waiter) listen() {
	if w.wake != nil {
		return
	}
	w.wake = make(chan struct{}, 1)
	for _, hub := range w.hubs {
		w.stops = append(w.stops, hub.Listen(w.channel, func(bool) { wakeUp(w.wake) }))
		hub.TryPublish(w.channel)
	}
}

// wakeUp wakes a waiter, unless a wake-up is pending.
func wakeUp(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

func (w *waiter) stop() {
	for _, stop := range w.stops {
		stop()
	}
}

// passed is the number of messages about releases by other processes, since this process released last and while it is subscribed. Of
// several servers the one with the largest number decides.
func (w *waiter) passed() (most int) {
	for _, hub := range w.hubs {
		most = max(most, hub.ByOthers(w.channel))
	}
	return most
}

// subscribed reports whether a server notifies this process of releases.
func (w *waiter) subscribed() bool {
	return slices.ContainsFunc(w.hubs, func(hub *pubsub.Hub) bool { return hub.Subscribed(w.channel) })
}
