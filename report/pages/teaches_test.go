package pages

import (
	"testing"

	"locklab/experiments/claims"
)

// A page teaches from top to bottom. Every experiment has a question, a prediction, a reason, a fix, its limits and what to try next.
func TestEveryExperimentTeaches(t *testing.T) {
	starts := 0
	for _, e := range claims.All() {
		l := e.Lesson
		if l.Start {
			starts++
		}
		for part, text := range map[string]string{
			"question": l.Question, "prediction": l.Predict, "why": l.Why, "fix": l.Fix, "limits": l.Limits, "next": l.Next,
		} {
			if text == "" {
				t.Errorf("%s has no %s", e.ID, part)
			}
		}
	}
	if starts == 0 || starts > 6 {
		t.Errorf("a reader is told to start at %d experiments", starts)
	}
}
