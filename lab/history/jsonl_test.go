package history_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"locklab/lab/history"
	"locklab/lab/testenv/script"
)

// lostUpdate is a history with most kinds of values.
const lostUpdate = "A request lock\nA grant lock 7\nB grant lock 7\nA read n 0\nB read n 0\nA write n 1\nB write n 1\nredis fault: cut\n" +
	"A release lock\nA released lock: gone\nresource final n 1"

// encoded is a history as it is saved.
func encoded(t testing.TB, events []history.Event) string {
	t.Helper()
	var b bytes.Buffer
	if err := history.Encode(&b, events...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A history is read as it was written, also an event of 100 KB. People can read the texts in the file.
func TestWhatIsEncodedIsDecoded(t *testing.T) {
	events := script.Events(t, lostUpdate)
	events[0].Text, events[1].Proof, events[2].Token, events[3].Process = "<a> & \"b\"\n", "ps says T", 7, "app-1"
	events[4].Text = strings.Repeat("x", 100<<10)
	text := encoded(t, events)
	got, err := history.Decode(strings.NewReader(text))
	if err != nil || !reflect.DeepEqual(got, events) {
		t.Errorf("%v, %v", err, got)
	}
	if !strings.Contains(text, `<a> & \"b\"\n`) {
		t.Errorf("a text cannot be read in the file: %.300s", text)
	}
}

// An event that cannot be written is an error.
func TestEncodeWhereNothingCanBeWritten(t *testing.T) {
	r, w := io.Pipe()
	_ = r.CloseWithError(io.ErrShortWrite)
	if err := history.Encode(w, history.Event{Seq: 1}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
}

// With damage there are the events before it, and an error that names the line.
func TestDecodeOfDamage(t *testing.T) {
	whole := encoded(t, script.Events(t, "A request lock\nA grant lock\nA release lock"))
	lines := strings.SplitAfter(whole, "\n")
	for _, c := range []struct {
		name, text, says string
		events           int
	}{
		{"empty", "", "", 0},
		{"whole", whole, "", 3},
		{"without its last line end", strings.TrimSuffix(whole, "\n"), "", 3},
		{"cut short in a line", whole[:len(whole)-10], "line 3 is no event", 2},
		{"a line is missing", lines[0] + lines[2], "line 2 has the event number 3", 1},
		{"an empty line", lines[0] + "\n" + lines[1], "line 2 is no event", 1},
		{"two events in a line", strings.TrimSpace(lines[0]) + lines[1], "line 1 goes on", 0},
		{"a field of a newer version", strings.Replace(lines[0], `"variant"`, `"other"`, 1), "unknown field", 0},
		{"text for a number", strings.Replace(lines[0], `"trial":1`, `"trial":"1"`, 1), "line 1 is no event", 0},
		{"a line without an end", lines[0] + `{"text":"` + strings.Repeat("x", 1<<20), "after line 1", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, err := history.Decode(strings.NewReader(c.text))
			if len(events) != c.events || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%d events and %v, want %d and %q", len(events), err, c.events, c.says)
			}
		})
	}
}

// Whatever stands in the file: no panic, numbers without a gap, and what was read is written and read again the same.
func FuzzDecode(f *testing.F) {
	text := encoded(f, script.Events(f, lostUpdate))
	f.Add([]byte(text))
	f.Add([]byte(text[:len(text)/2]))
	f.Add([]byte("null\n"))
	f.Add([]byte(`{"seq":1,"at_ns":-1,"kind":"grant","timeline":"\u001b"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		events, _ := history.Decode(bytes.NewReader(text))
		for i, e := range events {
			if e.Seq != i+1 {
				t.Fatalf("event %d has the number %d", i+1, e.Seq)
			}
		}
		again, err := history.Decode(strings.NewReader(encoded(t, events)))
		if err != nil || !reflect.DeepEqual(again, events) {
			t.Fatalf("read again: %v", err)
		}
		for _, check := range []func([]history.Event) []history.Violation{history.Exclusion, history.Counter, history.Winners} {
			for _, f := range check(events[:min(len(events), 100)]) {
				history.Timelines(history.Explain(events, f))
			}
		}
	})
}
