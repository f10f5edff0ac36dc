package explore_test

import (
	"strings"
	"testing"

	"locklab/lab/explore"
	"locklab/lab/history"
)

// The replies of v3's scripts are recorded in words. Here each command takes a second.
func TestRepliesOfScriptsInWords(t *testing.T) {
	var said []string
	for _, e := range played(t, explore.V3, "AB", explore.Moves("A B A A A")).Events() {
		if e.Kind == history.Command && strings.Contains(e.Text, ".lua") {
			said = append(said, e.Timeline+": "+e.Text)
		}
	}
	const want = "A: acquire.lua → granted, B: acquire.lua → refused: 59.0 s left, A: release.lua → released"
	if got := strings.Join(said, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
