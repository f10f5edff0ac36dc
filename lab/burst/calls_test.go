package burst

import (
	"strings"
	"testing"
)

// A record of calls shows something only if each call was answered, the supplier saw as many, and the instances share them evenly.
func TestCallsAreSound(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls Calls
		why   string // empty: it is sound
	}{
		{"all is seen", Calls{Made: []string{"a", "b"}, Refused: []string{"b", "a"}, Seen: 2}, ""},
		{"a call is executed twice", Calls{Made: []string{"a", "b"}, Refused: []string{"b", "a"}, Seen: 3}, "the supplier has seen 3"},
		{"the log lost one", Calls{Made: []string{"a", "b"}, Refused: []string{"b", "a"}, Seen: 1}, "the supplier has seen 1"},
		{"one has no answer", Calls{Made: []string{"a", "b"}, Failed: []string{"reset"}, Seen: 2}, "reset"},
		{"one instance has more", Calls{Made: []string{"a", "a", "a", "b"}, Seen: 4}, "half of the requests"},
		{"one instance has all", Calls{Made: []string{"a", "a"}, Seen: 2}, "half of the requests"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.calls.Sound(2)
			if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("got %v, want %q", err, c.why)
			}
		})
	}
}
