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
	pollInterval = 50 * time.Millisecond // between two tries of a waiter that is not subscribed (TestAWaiterThatIsNotSubscribedPolls)
	longestWait  = time.Second           // between two tries of one that is: what a lost message costs (TestTheRightToPublishIsTakenAway)
)

var errClosed = fmt.Errorf("%w: this strategy has been closed", ErrUnavailable)

// waiter decides when a caller of Acquire tries again: when a release is notified, and after a time at the latest. A notification
// is a hint that may get lost; the time decides.
type waiter struct {
	hubs     []*pubsub.Hub   // one for each server; none: this waiter polls, or is woken by its strategy
	channel  string          // on which releases are published
	life     context.Context // of the strategy: it ends when that is closed
	interval time.Duration   // between two tries of a caller that is not subscribed

	until    time.Time // when another holder's lease ends unless it is renewed, as the last try has learned; zero: not known
	notNow   error     // why the server refused to execute the last try for now; nil: it executed it
	yielding yielding
	wake     chan struct{}
	stops    []func()
}

// holder is what the last try has learned of the client that has the key.
func (w *waiter) holder() Holder { return Holder{Left: max(0, time.Until(w.until))} }

// tried notes what a try has learned.
func (w *waiter) tried(request Request, left time.Duration, err error) {
	if request.NotNow != nil && (err != nil || w.notNow != nil) {
		request.NotNow(err)
	}
	w.until, w.notNow = time.Now().Add(left), err
}

// refused is why the last try was not granted.
func (w *waiter) refused() error { return cmp.Or(w.notNow, error(w.holder())) }

// taken is the error of a caller that tries once.
func (w *waiter) taken() error { return fmt.Errorf("%w: %w", ErrTaken, w.holder()) }

// yield lets releases by other processes pass before the first try, as the request says. It returns an error when that try is pointless.
func (w *waiter) yield(ctx context.Context, releases int) error {
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case w.life.Err() != nil:
		return errClosed
	case releases == 0:
		return nil
	case releases == Unknown: // they poll, so a pause is enough
		_, err := w.sleep(ctx, w.interval+w.interval/5)
		return err
	}
	w.yielding = yieldTo(releases)
	w.listen()
	_, err := w.sleep(ctx, w.yielding.probe)
	return err
}

// wait waits after a try that was refused: for a notification, and for most at the longest. It returns why another try is pointless.
func (w *waiter) wait(ctx context.Context, most time.Duration) error {
	w.listen()
	subscribed := w.subscribed()
	if subscribed {
		most = min(most, longestWait)
	} else {
		most = min(most, w.interval/2+rand.N(w.interval/2))
	}
	silent, err := w.sleep(ctx, most)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", err, w.refused())
	case silent && subscribed && most > w.interval: // a shorter wait is a poll already
		// The right to publish may have been taken away since it was tried. Then this process polls from its next try on. Otherwise each
		// try that finds the key held again would cost longestWait, or a lease that is shorter (TestTheRightToPublishIsTakenAwayFromAll).
		for _, hub := range w.hubs {
			hub.TryPublishAgain(w.channel)
		}
	}
	return nil
}

// sleep returns when it is woken and owes nothing, or after most since the last notification: silent. The error says why another try is
// pointless.
func (w *waiter) sleep(ctx context.Context, most time.Duration) (silent bool, err error) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ended(ctx)
		case <-w.life.Done():
			return false, errClosed
		case <-timer.C:
			return true, nil
		case <-w.wake:
			if w.yielding.paid(w.passed()) {
				return false, nil
			}
			timer.Reset(w.yielding.probe) // another process has released: one more probe
		}
	}
}

// listen begins to listen to every server, the first time.
func (w *waiter) listen() {
	if w.wake != nil {
		return
	}
	w.wake = make(chan struct{}, 1)
	for _, hub := range w.hubs {
		w.stops = append(w.stops, hub.Listen(w.channel, func(bool) { notify(w.wake) }))
		hub.TryPublish(w.channel)
	}
}

// notify wakes a waiter, unless it is awake already.
func notify(wake chan<- struct{}) {
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

// passed is how many releases by other processes the server that knows most has notified since this process released last.
func (w *waiter) passed() (most int) {
	for _, hub := range w.hubs {
		most = max(most, hub.ByOthers(w.channel))
	}
	return most
}

// subscribed reports whether a release is notified.
func (w *waiter) subscribed() bool {
	return slices.ContainsFunc(w.hubs, func(hub *pubsub.Hub) bool { return hub.Subscribed(w.channel) })
}
