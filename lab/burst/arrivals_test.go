package burst

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Views are due so many times per second on average, and at random: some follow each other closely, and some do not.
func TestViewsAreDueAtTheChosenRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate, seconds, most = 100, 60, 600 // 600 is about eight standard deviations
		due := &arrivals{rate: rate, stop: make(chan struct{})}
		due.begin()
		began, before, n, close, far := time.Now(), time.Now(), 0, 0, 0
		for time.Since(began) < seconds*time.Second {
			at, more := due.next(t.Context())
			if !more || time.Since(at) != 0 {
				t.Fatalf("more: %v; the view is due at %v, and it is %v", more, at, time.Now())
			}
			switch gap := at.Sub(before); {
			case gap < time.Second/rate/2:
				close++
			case gap > 2*time.Second/rate:
				far++
			}
			before, n = at, n+1
		}
		if n < rate*seconds-most || n > rate*seconds+most || close == 0 || far == 0 {
			t.Errorf("in %d s %d views were due, not about %d; %d soon after the one before, %d long after it", seconds, n, rate*seconds, close, far)
		}
	})
}

// A view that was due while every client waited is due still: it waits for no further time, and its wait counts from then.
func TestAViewThatFoundNoClientStaysDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		due := &arrivals{rate: 10, stop: make(chan struct{})}
		due.begin()
		time.Sleep(time.Minute) // no client is free
		now := time.Now()
		at, more := due.next(t.Context())
		if late := now.Sub(at); !more || late <= 0 || time.Now() != now {
			t.Errorf("more: %v; the view was due %v ago, and was waited for until %v", more, late, time.Since(now))
		}
	})
}

// Nothing is due after the stop, or after the end of the context, and nobody goes on to wait. Without a rate a view is due immediately.
func TestNoViewIsDueAfterTheEnd(t *testing.T) {
	for _, rate := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			stop := make(chan struct{})
			due := &arrivals{rate: rate, stop: stop}
			due.begin()
			if rate == 0 {
				if at, more := due.next(t.Context()); !more || at != time.Now() {
					t.Errorf("more: %v; it is due at %v", more, at)
				}
			}
			ended, end := context.WithCancel(t.Context())
			end()
			began := time.Now()
			if _, more := due.next(ended); more || time.Since(began) != 0 {
				t.Error("a view is due after the end of the context")
			}
			close(stop)
			if _, more := due.next(t.Context()); more || time.Since(began) != 0 {
				t.Error("a view is due after the stop")
			}
		})
	}
}

// The plot of a load has for each second its answers, its losses, and the waits for the answers that were confirmed. The second in which
// the load ends is the last.
func TestSecondsOfALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meter Meter
		if r := meter.Rates(60); len(r.Seconds) > 0 || !r.Began.IsZero() {
			t.Errorf("before it began there is %+v", r)
		}
		end := meter.begin(func(Event) {})
		began := time.Now()
		for _, ms := range []time.Duration{3, 1, 2} {
			meter.add(Answered{Value: 1, Waited: ms * time.Millisecond, Lost: int(ms) - 1})
		}
		time.Sleep(2500 * time.Millisecond) // a second without an answer, and the half of one
		meter.add(Answered{Failed: "gone", Waited: time.Minute, Lost: 1})
		meter.add(Answered{Stale: true, Waited: time.Minute, Lost: 5})
		time.Sleep(time.Second)
		meter.add(Answered{Value: 1, Waited: time.Millisecond, Lost: 5})
		if r := meter.Rates(60); len(r.Seconds) != 3 {
			t.Errorf("with the second that goes on there are %+v", r.Seconds)
		}
		end()
		time.Sleep(time.Minute)
		want := []Second{
			{Confirmed: 3, Lost: 2, Median: 2 * time.Millisecond, P99: 3 * time.Millisecond, Longest: 3 * time.Millisecond},
			{},
			{Failed: 2, Lost: 3},
			{Confirmed: 1, Median: time.Millisecond, P99: time.Millisecond, Longest: time.Millisecond},
		}
		r := meter.Rates(60)
		if !slices.Equal(r.Seconds, want) {
			t.Errorf("the seconds are %+v, want %+v", r.Seconds, want)
		}
		if r.Lost != 5 || r.Failed != 1 || r.Stale != 1 || r.Before != 0 || !r.Began.Equal(began) {
			t.Errorf("%+v", r)
		}
		if r = meter.Rates(1); r.Before != 3 || len(r.Seconds) != 1 || r.Seconds[0] != want[3] {
			t.Errorf("the newest second is %+v", r)
		}
	})
}

// A counter that begins again is seen once: two of its views wrote 1. One that lost an update is not taken for such a counter.
func TestACounterThatBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meter Meter
		defer meter.begin(func(Event) {})()
		fellAfter := func(values ...int64) time.Time {
			for _, value := range values {
				time.Sleep(time.Millisecond)
				meter.add(Answered{Value: value})
			}
			return meter.Rates(60).FellAt
		}
		if at := fellAfter(1, 2, 3, 2, 4, 5, 6, 7); !at.IsZero() {
			t.Errorf("a lost update is seen as a counter that fell at %s", at)
		}
		fell := fellAfter(1)
		if !fell.Equal(time.Now()) {
			t.Errorf("it fell now, and is seen to fall at %s", fell)
		}
		if at := fellAfter(2, 3); !at.Equal(fell) {
			t.Error("while it grows again it is seen to fall")
		}
	})
}

// A load says which number cannot be, and what to take instead.
func TestALoadIsBounded(t *testing.T) {
	for _, c := range []struct {
		clients, rate int
		want          error
	}{
		{0, 1, ErrClients},
		{MostClients + 1, 1, ErrClients},
		{1, -1, ErrRate},
		{1, MostRate + 1, ErrRate},
		{1, 0, nil},
		{MostClients, MostRate, nil},
	} {
		if _, err := NewLoad("v3", c.clients, c.rate); !errors.Is(err, c.want) {
			t.Errorf("%d clients, %d per second: %v, want %v", c.clients, c.rate, err, c.want)
		}
	}
}
