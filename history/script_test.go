package history

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// script makes a history: "A ask lock", "B write counter 3", "node fault: killed". The owner is the lane, or what stands
// behind it: "A/2 ask lock" is A's second attempt. Each event is a millisecond after the one before; with = at the same time.
func script(t *testing.T, text string) (events []Event) {
	t.Helper()
	var at time.Duration
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if line, same := strings.CutPrefix(line, "= "); same {
			events = append(events, event(t, line, at, len(events)))
			continue
		}
		at += time.Millisecond
		events = append(events, event(t, line, at, len(events)))
	}
	return events
}

func event(t *testing.T, line string, at time.Duration, before int) Event {
	t.Helper()
	said, text, _ := strings.Cut(line, ": ")
	words := strings.Fields(said)
	e := Event{Seq: before + 1, Variant: "arm", Trial: 1, At: at, Timeline: words[0], Owner: words[0], Kind: Kind(words[1]), Text: text}
	if lane, attempt, two := strings.Cut(words[0], "/"); two {
		e.Timeline, e.Owner = lane, lane+attempt
	}
	if len(words) > 2 {
		e.Key = words[2]
	}
	if len(words) > 3 {
		if _, err := fmt.Sscan(words[3], &e.Value); err != nil {
			t.Fatal(line, err)
		}
	}
	return e
}

// shows is what findings say, and the numbers of their events.
func shows(found []Violation) string {
	var all []string
	for _, f := range found {
		all = append(all, fmt.Sprintf("%s %v", f.What, f.Events))
	}
	return strings.Join(all, "; ")
}

type checkCase struct{ name, history, want string }

func testCheck(t *testing.T, check func([]Event) []Violation, cases []checkCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			events := script(t, c.history)
			if got := shows(check(events)); got != c.want {
				t.Errorf("got  %q\nwant %q\n%s", got, c.want, Timelines(events))
			}
		})
	}
}
