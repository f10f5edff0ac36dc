package html

import (
	"strings"
	"testing"
	"time"

	"locklab/lab/burst"
)

// ratesOf are three seconds of a load, of which the second has no answer.
func ratesOf() burst.Rates {
	return burst.Rates{Failed: 30, Lost: 4, Before: 7, Seconds: []burst.Second{
		{Confirmed: 10, Median: time.Millisecond, Longest: 100 * time.Millisecond}, {}, {Confirmed: 10, Failed: 30, Lost: 4, Longest: time.Hour},
	}}
}

// The plot has a bar for each second: its failures stand on its confirmed answers, and the newest is at the right edge. Below it are the
// waits, from the median to the longest, and the losses.
func TestRatesAreDrawn(t *testing.T) {
	var text strings.Builder
	if err := Rates(&text, ratesOf(), 60, nil); err != nil {
		t.Fatal(err)
	}
	wants(t, text.String(),
		"the highest bar is 40", "so far 4", ">10 s</text>", "Failed so far: 30. Lost so far: 4.",
		`<rect class="amount" x="450.7" y="118" width="6.1" height="16"/>`+
			`<path class="wait" d="M454.3 216V192"/><path class="median" d="M450.7 216h6.1"/>`,
		`<rect class="failed" x="464.9" y="70" width="6.1" height="48"/><rect class="amount" x="464.9" y="118" width="6.1" height="16"/>`+
			`<path class="wait" d="M468.5 216V156"/>`,
		`<rect class="failed lost" x="464.9" y="238" width="6.1" height="24"/>`,
	)
	if n := strings.Count(text.String(), "<rect"); n != 4 {
		t.Errorf("%d bars; a second without an answer has none", n)
	}
}

// A change of the servers is a line at its moment. One that is older than the plot is left out. One of the second that goes on stands at
// the edge. No text covers another or leaves the picture.
func TestMomentsOfALoadAreDrawn(t *testing.T) {
	var text strings.Builder
	moments := []Moment{
		{time.Second, "kill early"}, {7500 * time.Millisecond, "kill master"}, {8 * time.Second, "replica-1 is a master"}, {time.Minute, "<now>"},
	}
	if err := Rates(&text, ratesOf(), 60, moments); err != nil {
		t.Fatal(err)
	}
	wants(t, text.String(),
		`<path class="moment-line" d="M454.3 14V262"/><text class="moment" x="454.3" y="14" text-anchor="end" dx="-4">kill master</text>`,
		`<text class="moment" x="457.8" y="29" text-anchor="end" dx="-4">replica-1 is a master</text>`,
		`x="472" y="44" text-anchor="end" dx="-4">&lt;now&gt;<`,
	)
	lacks(t, text.String(), "kill early") // it was before the first second of the plot
}

// A moment without a free row is a line without a text.
func TestMomentsThatAreTooClose(t *testing.T) {
	var text strings.Builder
	moments := make([]Moment, momentRows+1)
	for i := range moments {
		moments[i] = Moment{7500*time.Millisecond + time.Duration(i), "kill a server with a long name"}
	}
	if err := Rates(&text, ratesOf(), 60, moments); err != nil {
		t.Fatal(err)
	}
	lines, texts := strings.Count(text.String(), `class="moment-line"`), strings.Count(text.String(), "kill a server")
	if lines != len(moments) || texts != momentRows {
		t.Errorf("%d lines and %d texts in\n%s", lines, texts, text.String())
	}
}

// A failure and a loss beside thousands are seen.
func TestASmallShareIsSeen(t *testing.T) {
	var text strings.Builder
	seconds := []burst.Second{{Confirmed: 1, Failed: 1, Lost: 1}, {Confirmed: 5000, Lost: 5000}}
	if err := Rates(&text, burst.Rates{Seconds: seconds}, 60, nil); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), `height="1"`); n != 3 {
		t.Errorf("%d of 3 are seen in\n%s", n, text.String())
	}
}

// The times below the plot are whole: one that the edge would cut is left out.
func TestNoTimeOfALoadIsCut(t *testing.T) {
	var text strings.Builder
	if err := Rates(&text, burst.Rates{Seconds: make([]burst.Second, 180)}, 180, nil); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), `class="time"`); n != 6 || strings.Contains(text.String(), "180 s</text>") {
		t.Errorf("%d times, and the one at the edge, in\n%s", n, text.String())
	}
}
