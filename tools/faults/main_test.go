package main

import (
	"strings"
	"testing"
)

// What counts is how the last requests end. Of two instances behind nginx one may answer and the other not.
func TestEnding(t *testing.T) {
	for _, c := range []struct{ answers, want string }{
		{"200 503 200 201", succeed}, {"200 200 503 000", fail}, {"200 502 200", some}, {"200 200 502", some}, {"200", some},
	} {
		if got := ending(strings.Fields(c.answers)); got != c.want {
			t.Errorf("%s: %s; want %s", c.answers, got, c.want)
		}
	}
}
