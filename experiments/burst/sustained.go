package burst

import (
	"cmp"
	"context"
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
	b := Views{Version: version, Began: time.Now()}
	if err := target.reset(ctx); err != nil {
		return b, err
	}
	var mu sync.Mutex
	var all []answer
	told := teller{version: version, tell: tell}
	got := func(a answer) (more bool) {
		told.add(a)
		return !closed(stop)
	}
	group, sending := errgroup.WithContext(ctx)
	for range clients {
		group.Go(func() error {
			for !closed(stop) {
				answers, began, err := sequential(sending, target.URL, target.views(version, perConnection), got)
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
	b.Users, b.Took, b.Events = len(all), took(all), eventsOf(all, b.record)
	var err error
	b.Final, err = target.counter(ctx, readTimeout)
	return b, err
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
