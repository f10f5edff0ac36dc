package html

import (
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/scorecard"
)

// The page of a scorecard speaks of rows that hold or are violated, and names those that the program does not claim.
func TestTried(t *testing.T) {
	row := func(id string, state scorecard.State, v lab.Verdict) scorecard.Score {
		s := lab.Saved{Experiment: lab.Experiment{ID: id}, Judgement: lab.Judgement{Verdict: v}}
		s.Record.Experiment = id
		return scorecard.Score{ID: id, Title: "the title of " + id, State: state, Why: "why " + id, Saved: s}
	}
	var page strings.Builder
	err := Tried(&page, &scorecard.Scorecard{Name: "my <lock>", Program: []string{"node", "my lock.js"}, Rows: []scorecard.Score{
		row("T01-a", scorecard.Holds, lab.AsExpected), row("T02-b", scorecard.Violated, lab.Unexpected),
		row("T04-d", scorecard.NotClaimed, lab.Inconclusive),
	}})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(page.String()), " ")
	for _, says := range []string{
		"<h1>my &lt;lock&gt;</h1>", "<code>node</code> <code>my lock.js</code> was tried on",
		"<b>1</b> violated", "<b>1</b> holds", "<b>0</b> inconclusive",
		"<li><b>T04-d</b>, the title of T04-d: why T04-d</li>",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in %s", says, text)
		}
	}
	if violated, holds := strings.Index(text, `href="#T02-b"`), strings.Index(text, `href="#T01-a"`); violated < 0 || holds < violated {
		t.Errorf("the violated row is at %d, and the one that holds at %d", violated, holds)
	}
	if strings.Contains(text, `id="T04-d"`) {
		t.Error("a row that is not claimed is drawn")
	}
}
