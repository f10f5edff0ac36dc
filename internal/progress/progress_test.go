package progress

import (
	"strings"
	"testing"
	"time"
)

// Where nobody looks on, a step is a line, and nothing else is written.
func TestALineForEachStep(t *testing.T) {
	var b strings.Builder
	l := New(&b)
	l.Say("starting")
	l.Step(1, 2, "one")
	l.Print("one is over: %d", 7)
	l.Weighted(2, 2, 0.9, "two")
	l.Done()
	if want := "starting\n1/2 one\none is over: 7\n2/2 two\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// The time left is estimated from the work that is over. Before, and when the estimate was wrong, the line has the time so far.
func TestTimeLeft(t *testing.T) {
	began := time.Now()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	var s state
	for _, c := range []struct {
		at   int
		step func(time.Time)
		want string
	}{
		{0, func(now time.Time) { s.step(now, 0, 4, 0, "warm up") }, "warm up"},
		{5, nil, "(5 s so far) warm up"},
		{5, func(now time.Time) { s.step(now, 1, 4, 0, "a") }, "1/4 a"},
		{8, nil, "1/4 (3 s so far) a"},
		{15, func(now time.Time) { s.step(now, 2, 4, 0.2, "b") }, "2/4 (about 40 s left) b"},
		{25, nil, "2/4 (about 30 s left) b"},
		{55, nil, "2/4 (50 s so far) b"},
		{105, func(now time.Time) { s.step(now, 3, 4, 0.25, "c") }, "3/4 (about 5 min left) c"},
		{205, nil, "3/4 (about 3 min left) c"},
		{206, func(now time.Time) { s.step(now, 0, 0, 0, "clear up") }, "clear up"},
	} {
		if c.step != nil {
			c.step(at(c.at))
		}
		if got := s.text(at(c.at)); got != c.want {
			t.Errorf("after %d s: %q, want %q", c.at, got, c.want)
		}
	}
}
