package html

import (
	"bytes"
	"strings"
	"testing"
)

// A value is drawn once in each cell, however many writes there are, and each instance has a style of its own.
func TestAClimbIsDrawn(t *testing.T) {
	var all []Written
	for i := range 10_000 { // two instances that lose nothing
		all = append(all, Written{i % 2, int64(i + 1)})
	}
	var text bytes.Buffer
	if err := Climb(&text, len(all), all); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "h0"); n > 2*(climbWidth+climbHeight+2) {
		t.Errorf("10000 writes make %d points", n)
	}
	text.Reset()
	if err := Climb(&text, 4, []Written{{0, 1}, {1, 1}, {2, 2}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`class="wrote-0" d="M30 60h0M90 40h0"`, `class="wrote-1" d="M60 60h0"`, "3 views of 4 confirmed, and the largest value is 2",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s is missing in %s", want, text.String())
		}
	}
}
