package lockstrategy

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/internal/replies"
	"locklab/lockstrategy/pubsub"
)

const (
	pollInterval = 50 * time.Millisecond // the longest pause of a waiter that is not subscribed (TestAWaiterThatIsNotSubscribedPolls)
	longestWait  = time.Second           // of one that is: the cost of a lost message (TestTheRightToPublishIsTakenAway)
)

var errClosed = fmt.Errorf("%w: this strategy has been closed", ErrUnavailable)

// waiter decides when Acquire tries again: when a release is notified, and after a time at the latest. Notifications may get lost, so the
// time decides.
type waiter struct {
	hubs     []*pubsub.Hub   // one for each server; none: this waiter polls, or its strategy wakes it
	channel  string          // on which releases are published
	life     context.Context // of the strategy: it ends when that is closed
	interval time.Duration   // the longest pause of a caller that is not subscribed

	until    time.Time // when the other holder's lease ends unless it is renewed, according to the last try; zero: not known
	notNow   error     // the server's refusal to execute the last try, for now; nil: it executed the try
	yielding yielding
	wake     chan struct{}
	stops    []func()
}

// tried notes the result of a try that was not granted. left is the rest of the other holder's lease.
func (w *waiter) tried(request Request, left time.Duration, err error) {
	w.until, w.notNow = time.Now().Add(left), nil
	if replies.NotNow(err) {
		w.notNow = err
	}
	if request.NotNow != nil {
		request.NotNow(w.notNow)
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

// wait waits for a notification after a try that was not granted. It ends after most at the latest, and earlier where messages may get
// lost; 0: most is not known. The error says that another try is pointless.
func (w *waiter) wait(ctx context.Context, most time.Duration) error {
	w.listen()
	most = min(cmp.Or(most, longestWait), longestWait)
	subscribed := w.subscribed()
	if !subscribed {
		most = min(most, w.interval/2+rand.N(w.interval/2))
	}
	silent, err := w.sleep(ctx, most)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", err, cmp.Or(w.notNow, error(w.other())))
	case silent && subscribed && most > w.interval: // a shorter wait is a poll already
		// The right to publish may have been taken away since it was tried. Then this process polls from its next try on. Otherwise each
		// try that finds the key held again would cost longestWait, or a lease that is shorter (TestTheRightToPublishIsTakenAwayFromAll).
		for _, hub := range w.hubs {
			hub.TryPublishAgain(w.channel)
		}
	}
	return nil
}

// sleep returns after most, and earlier when a notification comes and the debt is paid. A release that does not pay the debt starts the
// time of another probe. silent: there was no notification since. The error says that another try is pointless.
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

// passed is the number of releases by other processes that were notified since this process released last. The server with the largest
// number decides.
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
