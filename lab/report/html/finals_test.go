package html

import (
	"bytes"
	"testing"

	"locklab/lab/burst"
)

// left is a run that left a final value of each version.
func left(users int, of map[string]int64) *burst.Results {
	r := &burst.Results{Users: users}
	for version, value := range of {
		r.Pageview = append(r.Pageview, burst.PageviewRow{Judged: burst.Judged{Version: version}, Counts: burst.Counts{Final: value}})
	}
	return r
}

// The plot of final values has each run at its part of what it is without a loss, so that runs with different users compare. A reader
// without the picture gets the same as a sentence and as a table.
func TestFinalsArePlotted(t *testing.T) {
	var text bytes.Buffer
	runs := []*burst.Results{left(600, map[string]int64{"v1": 300, "v3": 601}), left(20, map[string]int64{"v1": 5})}
	if err := Finals(&text, runs, "v1", []int64{20, 0}); err != nil {
		t.Fatal(err)
	}
	wants(t, text.String(),
		`class="earlier" cx="280"`, `class="newest" cx="155"`, `class="article" d="M55 `, `class="guess" d="M30 `, `class="guess" d="M530 `,
		`<text class="time" x="30" y="92" dy="20">0 %<`, `<text class="time" x="530" y="92" dy="20">100 %<`,
		`class="earlier" cx="530"`, // a value above is at the end of the scale
		"v1 · none: 2 × run at 25 % to 50 %, 1 × value of the article at 5 %, 2 × guess at 0 % to 100 %. v3 · Redis lock: 1 × run at 100 %.",
		"<td>300 of 600, 5 of 20</td><td>34 of 666</td><td>0 of 20, 20 of 20</td>", "<td>601 of 600</td><td>–</td><td>–</td>",
	)
	lacks(t, text.String(), "v2") // it has no run
}
