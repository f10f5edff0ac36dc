// Package script makes histories of text, for tests of what reads them.
package script

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/lab/history"
)

// Events makes a history of lines: "A request lock", "B write counter 3", "node fault: killed". "B@2 grant lock 3" is in process
// 2, with the token 3. The owner is the timeline and what stands behind it: "A/2 request lock" is A's second attempt. Each
// event is a millisecond after the one before; with = at the same time.
func Events(t testing.TB, text string) (events []history.Event) {
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

func event(t testing.TB, line string, at time.Duration, before int) history.Event {
	t.Helper()
	said, text, _ := strings.Cut(line, ": ")
	words := strings.Fields(said)
	name, process, _ := strings.Cut(words[0], "@")
	e := history.Event{
		Seq: before + 1, Variant: "variant", Trial: 1, At: at, Process: process,
		Timeline: name, Owner: name, Kind: history.Kind(words[1]), Text: text,
	}
	if name, attempt, two := strings.Cut(name, "/"); two {
		e.Timeline, e.Owner = name, name+attempt
	}
	if len(words) > 2 {
		e.Key = words[2]
	}
	if len(words) > 3 {
		number, err := strconv.Atoi(words[3])
		if err != nil {
			t.Fatal(line, err)
		}
		if e.Kind == history.Grant || e.Kind == history.Reenter {
			e.Token = uint64(number)
		} else {
			e.Value = int64(number)
		}
	}
	return e
}
