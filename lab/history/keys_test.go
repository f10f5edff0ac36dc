package history_test

import (
	"testing"

	"locklab/lab/history"
	"locklab/lab/testenv/script"
)

// Where one client goes from a lock or a counter to another and back, each event of a timeline names its key.
func TestTimelinesNameTheKeys(t *testing.T) {
	const want = `       ms │ A             │ B                                   │ resource
      0.0 │ request a     │                                     │
      1.0 │ grant a       │                                     │
      2.0 │               │ request b                           │
      3.0 │               │ grant b: token 3                    │
      4.0 │               │ request a                           │
      5.0 │               │ refuse a: another client holds it   │
      6.0 │ read left: 0  │                                     │
      7.0 │ read right: 0 │                                     │
      8.0 │ write left: 1 │                                     │
      9.0 │ release a     │                                     │
     10.0 │ released a    │                                     │
     11.0 │ grant b       │                                     │
     12.0 │ grant a       │                                     │
     13.0 │               │ lose b: the server no longer has it │
     14.0 │               │                                     │ final left: 1
`
	got := history.Timelines(script.Events(t, `A request lock:a
		A grant lock:a
		B request lock:b
		B grant lock:b 3
		B request lock:a
		B refuse lock:a: another client holds it
		A read left
		A read right
		A write left 1
		A release lock:a
		A released lock:a
		A grant lock:b
		A grant lock:a
		B lose lock:b: the server no longer has it
		resource final left 1`))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// One key, a key of each client, and many of a kind need no names. A short name that is another key stays long.
func TestKeyNames(t *testing.T) {
	for said, c := range map[string]struct{ trial, want string }{
		"one key":          {"A grant lock:a\nB grant lock:a", ""},
		"a key of each":    {"A grant lock:a\nB grant lock:b\nA release lock:a\nB release lock:b", ""},
		"rounds":           {"A grant lock:a\nA release lock:a\nA grant lock:b\nA release lock:b", ""},
		"only counters":    {"A grant lock:a\nA read n\nA read m\nA write n", ""},
		"two":              {"A grant lock:a\nA grant lock:b\nA release lock:b\nA release lock:a", "a"},
		"many":             {"A grant lock:a\nA grant 1\nA grant 2\nA grant 3\nA grant 4\nA release lock:a", ""},
		"an ambiguous one": {"A grant lock:a\nA grant a\nA release lock:a", "lock:a"},
	} {
		events := script.Events(t, c.trial)
		e := history.Event{Kind: history.Release, Key: "lock:a"}
		if got := history.KeyNames(events)(e); got != c.want {
			t.Errorf("%s: %q, want %q", said, got, c.want)
		}
	}
}
