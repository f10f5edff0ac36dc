package claims

import (
	"testing"
	"time"

	"locklab/history"
)

// A holder that learns of its loss after the next grant is a violation, unless the lab's own timer was late as well.
func TestLearnsLate(t *testing.T) {
	for _, c := range []struct {
		name       string
		lose, ours time.Duration // after the grant; of our timer
		found      int
		shows      bool
	}{
		{"before", -time.Millisecond, 0, 0, true},
		{"a moment after", tolerance / 2, 0, 0, false},
		{"far too late", 2 * tolerance, 0, 1, false},
		{"on a machine that does nothing in time", 2 * tolerance, tolerance, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			grant := history.Event{At: time.Second, Timeline: "B", Kind: history.Grant}
			lose := history.Event{At: time.Second + c.lose, Timeline: "A", Kind: history.Lose}
			events := []history.Event{grant, lose}
			if c.lose < 0 {
				events = []history.Event{lose, grant}
			}
			events = append(events, history.Event{Timeline: "lab", Kind: history.Measure, Text: timerUnit, Value: c.ours.Microseconds()})
			for i := range events {
				events[i].Seq = i + 1
			}
			if found := learnsLate(events); len(found) != c.found {
				t.Errorf("found %+v", found)
			}
			if err := learnedInTime(events); (err == nil) != c.shows {
				t.Errorf("it shows something: %v, %v", c.shows, err)
			}
		})
	}
	found := learnsLate([]history.Event{
		{Seq: 1, Timeline: "B", Kind: history.Grant},
		{Seq: 2, At: time.Second, Timeline: "A", Kind: history.Lose},
	})
	if len(found) > 0 {
		t.Error("without our own timer nothing is known of the machine")
	}
}
