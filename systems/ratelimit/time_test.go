package ratelimit_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"locklab/lab/testenv"
	"locklab/systems/ratelimit"
)

// clock is a Redis whose time the test sets.
type clock struct {
	*miniredis.Miniredis
	now time.Time
}

func newClock(t *testing.T) *clock {
	c := &clock{miniredis.RunT(t), time.Unix(1_800_000_000, 0)}
	c.SetTime(c.now)
	return c
}

func (c *clock) pass(d time.Duration) {
	c.now = c.now.Add(d)
	c.SetTime(c.now)
	c.FastForward(d)
}

// simulate lets callers try often at moments that the test sets, and returns when calls were admitted.
func simulate(t *testing.T, algorithm string, limit ratelimit.Limit, moments []time.Duration, tries int) (admitted []time.Time) {
	t.Helper()
	server := newClock(t)
	l, last := open(t, client(t, server.Addr()), algorithm, 1)[0], time.Duration(0)
	for _, at := range moments {
		server.pass(at - last)
		last = at
		for range tries {
			switch _, err := l.Allow(t.Context(), limit); {
			case err == nil:
				admitted = append(admitted, server.now)
			case !errors.Is(err, ratelimit.ErrRefused):
				t.Fatal(err)
			}
		}
	}
	return admitted
}

// A call is admitted when the refusal says, and not a moment earlier.
func TestARefusalSaysWhenToComeBack(t *testing.T) {
	for _, name := range []string{"r2", "r3", "r4", "r5", "r6", "r8", "r9"} {
		server := newClock(t)
		comesBack(t, name, open(t, client(t, server.Addr()), name, 1)[0], server.pass)
	}
	for _, name := range []string{"r1", "r7"} {
		synctest.Test(t, func(t *testing.T) { comesBack(t, name, open(t, nil, name, 1)[0], time.Sleep) })
	}
}

func comesBack(t *testing.T, name string, l ratelimit.Limiter, pass func(time.Duration)) {
	t.Helper()
	limit := ratelimit.Limit{Key: "rates", Count: 4, Window: time.Minute}
	if admitted, _ := ask(t, l, limit, 1); admitted != 1 {
		t.Fatalf("%s refuses the first call", name)
	}
	pass(limit.Window / 20)
	_, refusal := ask(t, l, limit, 6)
	if refusal == nil {
		t.Fatalf("%s refuses nothing", name)
	}
	const moment = 2 * time.Millisecond
	pass(refusal.After - moment)
	if admitted, _ := ask(t, l, limit, 1); admitted != 0 {
		t.Errorf("%s says to come back in %s, and admits earlier", name, refusal.After)
	}
	pass(2 * moment)
	if admitted, _ := ask(t, l, limit, 1); admitted != 1 {
		t.Errorf("%s says to come back in %s, and refuses then", name, refusal.After)
	}
}

// Under every load that is tried here, the exact algorithms keep any window, and use it. The others exceed it under one of them.
func TestAnyWindow(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	limit := ratelimit.Limit{Key: "rates", Count: 40, Window: time.Minute}
	var steady, bursts []time.Duration
	edge := slices.Concat([]time.Duration{0}, slices.Repeat([]time.Duration{limit.Window - time.Second}, 39), // a border of two windows
		slices.Repeat([]time.Duration{limit.Window}, 40))
	for n := range 200 {
		steady = append(steady, time.Duration(n)*limit.Window/50)
	}
	for n := range 8 {
		bursts = append(bursts, time.Duration(n)*limit.Window/2-time.Duration(n%2)*time.Millisecond)
	}
	for name, c := range map[string]struct {
		most  int // in a window, over all loads
		atAll int // at least, of the steady load of four windows
	}{
		"r0": {100, 400}, "r2": {79, 150}, "r3": {79, 150}, "r4": {40, 150}, "r5": {79, 150}, "r6": {39, 140}, "r8": {79, 150}, "r9": {79, 150},
	} {
		most := 0
		for what, calls := range map[string][]time.Time{
			"steady": simulate(t, name, limit, steady, 2), "bursts": simulate(t, name, limit, bursts, 40),
			"edge": simulate(t, name, limit, edge, 1),
		} {
			n, _ := ratelimit.Worst(calls, limit.Window)
			most = max(most, n)
			if what == "steady" && len(calls) < c.atAll {
				t.Errorf("%s admits %d calls in four windows of %d", name, len(calls), limit.Count)
			}
		}
		if most != c.most {
			t.Errorf("%s has %d calls in a window, want %d; the limit is %d", name, most, c.most, limit.Count)
		}
		if a, _ := ratelimit.Find(name); a.Exceeds != (most > limit.Count) {
			t.Errorf("%s has %d calls in a window, and exceeds the limit of %d: %v", name, most, limit.Count, a.Exceeds)
		}
	}
}

// A limit of one call is one call in a window, also where the algorithm has a burst and a rate.
func TestALimitOfOneCall(t *testing.T) {
	limit := ratelimit.Limit{Key: "rates", Count: 1, Window: time.Minute}
	for _, name := range []string{"r3", "r4", "r5", "r6"} {
		if calls := simulate(t, name, limit, []time.Duration{0, 40 * time.Second}, 3); len(calls) != 1 {
			t.Errorf("%s has admitted calls at %v", name, calls)
		}
	}
}

// Calls of one microsecond are different calls.
func TestCallsOfOneMoment(t *testing.T) {
	limit := ratelimit.Limit{Key: "rates", Count: 5, Window: time.Minute}
	if calls := simulate(t, "r4", limit, []time.Duration{0}, 20); len(calls) != limit.Count {
		t.Errorf("%d calls were admitted in one microsecond, want %d", len(calls), limit.Count)
	}
}
