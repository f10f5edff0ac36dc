package history_test

import (
	"fmt"
	"strings"
	"testing"

	"locklab/lab/history"
	"locklab/lab/testenv/script"
)

// shows is what findings say, and the numbers of their events.
func shows(found []history.Violation) string {
	var all []string
	for _, f := range found {
		all = append(all, fmt.Sprintf("%s %v", f.What, f.Events))
	}
	return strings.Join(all, "; ")
}

type checkCase struct{ name, history, want string }

func testCheck(t *testing.T, check func([]history.Event) []history.Violation, cases []checkCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			events := script.Events(t, c.history)
			if got := shows(check(events)); got != c.want {
				t.Errorf("got  %q\nwant %q\n%s", got, c.want, history.Timelines(events))
			}
		})
	}
}
