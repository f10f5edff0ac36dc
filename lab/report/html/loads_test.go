package html

import (
	"strings"
	"testing"
	"time"

	"locklab/lab/history"
)

// Thirty loads at one moment are one high bar, and as many over time are low ones.
func TestLoadsOverTime(t *testing.T) {
	trial := func(every time.Duration) (events []history.Event) {
		events = append(events, history.Event{Timeline: "client", Kind: history.Note})
		for i := range 30 {
			at := time.Duration(i)*every + time.Millisecond
			events = append(events, history.Event{Timeline: "database", Kind: history.Command, Name: history.Load, At: at})
		}
		return append(events, history.Event{Timeline: "client", Kind: history.Note, At: time.Second})
	}
	for every, want := range map[time.Duration]string{
		time.Microsecond: "at most 30 in 25.0 ms", 30 * time.Millisecond: "at most 1 in 25.0 ms",
	} {
		l := loadsOver(trial(every))
		if l == nil || !strings.Contains(l.Says, "30 loads") || !strings.Contains(l.Says, want) {
			t.Fatalf("%+v, want %s", l, want)
		}
		for _, b := range l.Bars {
			if b.X < l.Left || b.X+b.Width > l.Right || b.Y+b.Height != l.Bottom || b.Height < 1 {
				t.Errorf("a bar outside: %+v", b)
			}
		}
	}
	steps := trial(30 * time.Millisecond)
	for i := range steps {
		if i%10 == 5 {
			steps = append(steps, history.Event{Timeline: "Redis", Kind: history.Note, Name: history.TimePasses, At: steps[i].At})
		}
	}
	if l := loadsOver(steps); l == nil || !strings.Contains(l.Says, "at most 10 in a moment") {
		t.Errorf("time passes in steps: %+v", l)
	}
	if l := loadsOver(trial(time.Microsecond)[:10]); l != nil {
		t.Errorf("few loads are drawn: %+v", l)
	}
}
