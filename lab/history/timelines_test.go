package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"locklab/lab/history"
	"locklab/lab/testenv/script"
)

func TestTimelines(t *testing.T) {
	events := script.Events(t, "A grant lock\nredis fault: killed\nB write n 7\nA lose lock: gone")
	events[0].Token = 3
	const want = `       ms │ A             │ redis    │ B
      0.0 │ grant token 3 │          │
      1.0 │               │ ✗ killed │
      2.0 │               │          │ write 7
      3.0 │ lose gone     │          │
`
	if got := history.Timelines(events); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	named := history.Timelines(script.Events(t, "a-long-name note: x\nB note: y"))
	if first, _, _ := strings.Cut(named, "\n"); first != "       ms │ a-long-name │ B" {
		t.Errorf("the names are %q", first)
	}
	if got := history.Timelines(nil); got != "       ms\n" {
		t.Errorf("of nothing it is %q", got)
	}
}

// Long tokens are counted, in texts as well; short ones stay. The events themselves do not change.
func TestRelative(t *testing.T) {
	events := script.Events(t, "A command: acquire.lua → [1795336135749408 0]\nA grant lock\nB grant lock\nB note: 17953361357494081")
	events[1].Token, events[2].Token = 1795336135749408, 17953361357494081
	got := history.Relative(events)
	if got[0].At != 0 || got[3].At != 3*time.Millisecond || got[0].Text != "acquire.lua → [1 0]" ||
		got[1].Token != 1 || got[2].Token != 2 || got[3].Text != "2" {
		t.Errorf("got %+v", got)
	}
	if events[1].Token != 1795336135749408 || events[0].At == 0 {
		t.Errorf("the events have changed: %+v", events)
	}
	events[1].Token, events[2].Token = events[2].Token, events[1].Token
	if got := history.Relative(events); got[1].Token != 2 || got[2].Token != 1 {
		t.Errorf("a larger token before a smaller one: %d and %d", got[1].Token, got[2].Token)
	}
	events[1].Token, events[2].Token = 1, events[1].Token
	if got := history.Relative(events); got[1].Token != 1 || got[2].Token != 2 {
		t.Errorf("the token 1 and a long one are %d and %d", got[1].Token, got[2].Token)
	}
	for token, want := range map[uint64]uint64{999_999: 999_999, 1_000_000: 1} {
		events[1].Token, events[2].Token = token, 0
		if got := history.Relative(events); got[1].Token != want || got[2].Token != 0 {
			t.Errorf("%d is %d, and no token is %d", token, got[1].Token, got[2].Token)
		}
	}
	events[1].Token, events[2].Token = 5, 7
	if got := history.Relative(events); got[1].Token != 5 || got[2].Token != 7 {
		t.Errorf("short tokens are %d and %d", got[1].Token, got[2].Token)
	}
}

// A time is in milliseconds, also after minutes.
func TestALateEventHasItsTime(t *testing.T) {
	events := []history.Event{
		{Timeline: "A", Kind: history.Note}, {Timeline: "A", Kind: history.Note, At: 10*time.Minute + 40*time.Microsecond},
	}
	if text := history.Timelines(events); !strings.Contains(text, " 600000.0 ") {
		t.Errorf("got\n%s", text)
	}
}

// A line breaks at the last space that fits, and within a word that is longer than a line.
func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"one two": "one|two", "one  two": "one |two", "onetwothree": "onetw|othre|e", " longword": " long|word",
		"a bc de": "a bc|de", "a bcdefg": "a|bcdef|g", "": "",
	} {
		if got := strings.Join(history.Wrap(text, 5), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// However many timelines there are and however long their texts, nothing is wider than a terminal, and no word is lost.
func TestTimelinesAreNarrow(t *testing.T) {
	const words = "one two three four five six seven eight nine ten eleven twelve"
	for n := 1; n <= 30; n++ {
		var events []history.Event
		for i := range n {
			events = append(events, history.Event{Timeline: fmt.Sprintf("client-%d", i), Kind: history.Note, Text: words + strings.Repeat("x", 130)})
		}
		text, full := history.Timelines(events), false
		for _, line := range strings.Split(text, "\n") {
			if got := utf8.RuneCountInString(line); got > history.Columns {
				t.Fatalf("%d timelines: %d columns: %s", n, got, line)
			} else if got == history.Columns {
				full = true
			}
		}
		if !full {
			t.Errorf("%d timelines, and no line is as wide as it may be:\n%s", n, text)
		}
		first, _, _ := strings.Cut(text, "\n")
		fits := 9+n*(3+12) <= history.Columns // beside the times, a column has 12 letters or more and a line before it
		if beside := strings.Count(first, "client-") == n; beside != fits {
			t.Fatalf("%d timelines: they stand beside each other: %v\n%s", n, beside, text)
		}
		if !fits && !strings.Contains(first, "0.0") {
			t.Fatalf("%d timelines: the first line has no time:\n%s", n, text)
		}
		if strings.Count(text, "0.0") != n {
			t.Fatalf("%d timelines: not each event has its time once:\n%s", n, text)
		}
		for _, word := range strings.Fields(words) {
			if strings.Count(text, word) != n {
				t.Fatalf("%d timelines: %q is lost in\n%s", n, word, text)
			}
		}
	}
}
