package terminal

import (
	"slices"
	"strings"
	"testing"

	"locklab/lab"
)

// A description has every part of the lesson. The question comes before the claim, which answers it.
func TestADescriptionHasTheWholeLesson(t *testing.T) {
	e := lab.Experiment{
		ID: "L1", Claim: "the claim", Level: lab.Medium, Anomaly: "an anomaly",
		Lesson: lab.Lesson{
			Title: "The title", Question: "a question?", Predict: "what is common", Choices: []string{"(a) one", "(b) two"},
			Drawing: "A────B", How: "as it runs", Why: "the reason", Fix: "the fix", Limits: "the limits", Says: "as they say",
			Errata: []lab.Erratum{{Article: "A2", What: "what is wrong"}}, Elsewhere: "from elsewhere", Next: "what is next",
		},
		Variants: []lab.Variant{{Name: "the control"}},
	}
	text := Experiment(e, "app", Screen{})
	for _, part := range slices.Concat(e.Choices, []string{
		e.Title, e.Question, e.Predict, e.Claim, e.How, e.Drawing, "the control", e.Anomaly, e.Why, e.Fix, e.Limits, e.Says, "what is wrong",
		e.Elsewhere, e.Next, "lab run L1",
	}) {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in\n%s", part, text)
		}
	}
	question, answer, _ := strings.Cut(text, "the rest is the answer")
	for _, gives := range []string{e.Claim, e.Drawing, "no violation", e.Why} {
		if strings.Contains(question, gives) || !strings.Contains(answer, gives) {
			t.Errorf("%q is read before a prediction:\n%s", gives, text)
		}
	}
	if strings.Index(text, e.Claim) < strings.Index(text, "the control") {
		t.Errorf("the claim does not stand with its explanation:\n%s", text)
	}
	e.Lesson = lab.Lesson{}
	for _, empty := range []string{"Question", "Predict", "Drawing", "Why", "Known from elsewhere"} {
		if slices.Contains(strings.Split(Experiment(e, "app", Screen{}), "\n"), empty) {
			t.Errorf("without a lesson there is %q", empty)
		}
	}
}
