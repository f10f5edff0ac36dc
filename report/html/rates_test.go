package html

import (
	"strings"
	"testing"

	"locklab/experiments/burst"
)

// The chart has a bar for each second: its failures stand on its confirmed answers, and the newest is at the right edge.
func TestRatesAreDrawn(t *testing.T) {
	var text strings.Builder
	if err := Rates(&text, []burst.Second{{Confirmed: 10}, {}, {Confirmed: 10, Failed: 30}}, 60); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`viewBox="0 0 600 80"`, "the highest bar is 40 answers",
		`<rect class="failed" x="570" y="60" width="9" height="0"/><rect class="amount" x="570" y="60" width="9" height="20"/>`,
		`<rect class="failed" x="580" y="80" width="9" height="0"/><rect class="amount" x="580" y="80" width="9" height="0"/>`,
		`<rect class="failed" x="590" y="0" width="9" height="60"/><rect class="amount" x="590" y="60" width="9" height="20"/>`,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it lacks %s in\n%s", want, text.String())
		}
	}
}
