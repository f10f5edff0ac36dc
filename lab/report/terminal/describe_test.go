package terminal

import (
	"slices"
	"strings"
	"testing"

	"locklab/lab"
)

// A description has every part of the lesson, in the order in which a reader learns: the question first, the reason after the variants.
func TestADescriptionHasTheWholeLesson(t *testing.T) {
	e := lab.Experiment{
		ID: "L1", Claim: "the claim", Level: lab.Medium, Anomaly: "an anomaly",
		Lesson: lab.Lesson{
			Title: "The title", Question: "a question?\n\nits second paragraph", Predict: "what is common", Choices: []string{"(a) one", "(b) two"},
			Drawing: "A────B", How: "as it runs", Why: "the reason", Fix: "the fix", Limits: "the limits", Says: "as they say",
			Errata: []lab.Erratum{{Article: "A2", What: "what is wrong"}}, Elsewhere: "from elsewhere", Next: "what is next",
		},
		Variants: []lab.Variant{{Name: "the control"}},
	}
	text, at := Experiment(e, "app", Screen{}), 0
	for _, part := range []string{
		"L1 · no article · medium\nThe title\n", "\nQuestion\n  a question?\n  its second paragraph\n",
		"\nPredict\n  what is common\n  (a) one\n  (b) two\n", "the claim", "as it runs", "\nDrawing\n  A────B\n", "the control", "an anomaly",
		"the reason", "the fix", "the limits", "as they say", "\nErratum of A2\n  what is wrong\n", "from elsewhere",
		"what is next", "lab run L1",
	} {
		found := strings.Index(text[at:], part)
		if found < 0 {
			t.Fatalf("there is no %q, or it comes too early:\n%s", part, text)
		}
		at += found + len(part) - 1 // the next part may begin with the line's end
	}
	e.Lesson = lab.Lesson{}
	lines := strings.Split(Experiment(e, "app", Screen{}), "\n")
	for _, empty := range []string{"Question", "Predict", "Drawing", "Why", "Known from elsewhere"} {
		if slices.Contains(lines, empty) {
			t.Errorf("without a lesson there is %q", empty)
		}
	}
}
