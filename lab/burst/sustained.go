package burst

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// perConnection is how many requests a client of sustained load sends over one connection.
const perConnection = 20

// SustainViews resets the counter behind target and lets clients send page views to version, until stop is closed. Each client sends its
// next view when the one before was answered. tell is told [Answered] of each, unless it is nil. Then the counter is read. An error means
// that there is no record.
func SustainViews(
	ctx context.Context, target Target, version string, clients int, stop <-chan struct{}, tell func(Event),
) (Views, error) {
	return sustain(ctx, target, version, clients, &arrivals{stop: stop}, tell)
}

// sustain is [SustainViews] with page views that are due at certain times.
func sustain(
	ctx context.Context, target Target, version string, clients int, due *arrivals, tell func(Event),
) (Views, error) {
	b := Views{Version: version, Began: time.Now()}
	if err := target.reset(ctx); err != nil {
		return b, err
	}
	var mu sync.Mutex
	var all []answer
	told := teller{version: version, tell: tell}
	due.begin()
	group, sending := errgroup.WithContext(ctx)
	for range clients {
		group.Go(func() error {
			at, more := due.next(sending)
			for more {
				answers, began, err := sequential(sending, target.URL, target.views(version, perConnection), func(a answer) bool {
					told.add(a, time.Since(at))
					answered := time.Now()
					at, more = due.next(sending)
					return more && time.Since(answered) < longestIdle
				})
				if err != nil {
					return err
				}
				mu.Lock()
				all = append(all, later(answers, began.Sub(b.Began))...)
				mu.Unlock()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return b, err
	}
	slices.SortStableFunc(all, func(a, b answer) int { return cmp.Compare(a.Got, b.Got) })
	b.Users, b.Took = len(all), took(all)
	b.Events = b.withSteps(eventsOf(all, b.record))
	var err error
	b.Final, err = target.counter(ctx, readTimeout)
	return b, err
}

// longestIdle is how long a connection may wait for the next page view: a server closes one that is idle.
const longestIdle = time.Second

// arrivals are the times at which the page views of a load are due. With a rate they are random, as those of people: the times between
// them are exponentially distributed. A page view that finds each client waiting for an answer stays due.
type arrivals struct {
	rate int // page views per second; 0: each is due when a client is free
	stop <-chan struct{}

	mu   sync.Mutex
	last time.Time // that was due
}

func (a *arrivals) begin() { a.last = time.Now() }

// next returns when the next page view is due, and waits until then. Without more there is none: the load was stopped, or ctx has ended.
func (a *arrivals) next(ctx context.Context) (due time.Time, more bool) {
	if a.rate == 0 {
		return time.Now(), !closed(a.stop) && ctx.Err() == nil
	}
	a.mu.Lock()
	a.last = a.last.Add(time.Duration(rand.ExpFloat64() * float64(time.Second) / float64(a.rate)))
	due = a.last
	a.mu.Unlock()
	wait := time.NewTimer(time.Until(due))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-a.stop:
	case <-ctx.Done():
	}
	return due, !closed(a.stop) && ctx.Err() == nil
}

// later moves answers on the clock.
func later(answers []answer, by time.Duration) []answer {
	for i := range answers {
		answers[i].Sent += by
		answers[i].Got += by
	}
	return answers
}

func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
