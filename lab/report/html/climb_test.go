package html

import (
	"bytes"
	"strings"
	"testing"
)

// A line goes through each cell once, however many writes there are. Each instance has a line of the largest values that it wrote.
func TestAClimbIsDrawn(t *testing.T) {
	var all []Written
	for i := range 10_000 { // two instances that lose nothing
		all = append(all, Written{i % 2, int64(i + 1)})
	}
	var text bytes.Buffer
	if err := Climb(&text, len(all), all); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "L"); n > 2*(climbWidth+climbHeight+2) {
		t.Errorf("10000 writes make %d points", n)
	}
	text.Reset()
	if err := Climb(&text, 4, []Written{{0, 1}, {1, 3}, {0, 1}, {1, 2}}); err != nil {
		t.Fatal(err)
	}
	wants(t, text.String(),
		`class="wrote-0" d="M30 60L90 60"`, `class="wrote-1" d="M60 20L120 20"`, "4 views of 4 confirmed, and the largest value is 3",
	)
}
