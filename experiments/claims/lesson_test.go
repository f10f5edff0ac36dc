package claims

import (
	"regexp"
	"strings"
	"testing"

	"locklab/experiments"
	"locklab/internal/testenv"
)

var (
	ids      = regexp.MustCompile(`\b[PGLFRSCDM]\d+(?:-[a-z-]+[a-z])?`)
	byHand   = regexp.MustCompile("`app lab (?:step|explore) ([A-Z0-9]+)`")
	sentence = regexp.MustCompile(`[^.?!]+[.?!]+(?:\s|$)`)
	word     = regexp.MustCompile(`[A-Za-z0-9][\w’'./-]*`)
	code     = regexp.MustCompile("`[^`]*`")
	letter   = regexp.MustCompile(`\([a-z]\)`)
)

// A lesson has all its parts, choices to predict from, which of them is right, and short sentences.
func TestLessonsAreWhole(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	for _, e := range All() {
		l := e.Lesson
		if l == (experiments.Lesson{}) {
			continue // it is not written yet
		}
		for name, text := range map[string]string{
			"question": l.Question, "predict": l.Predict, "why": l.Why, "fix": l.Fix, "limits": l.Limits, "next": l.Next,
		} {
			if text == "" {
				t.Errorf("%s: the lesson has no %s", e.ID, name)
			}
			for _, s := range sentence.FindAllString(text, -1) {
				if n := len(word.FindAllString(code.ReplaceAllString(s, ""), -1)); n > 25 {
					t.Errorf("%s, %s: a sentence of %d words: %s", e.ID, name, n, s)
				}
			}
		}
		for _, choice := range []string{"(a) ", "(b) ", "(c) "} {
			if !strings.Contains(l.Predict, choice) {
				t.Errorf("%s: there is no %s to predict", e.ID, choice)
			}
		}
		right := letter.FindAllString(l.Why, -1)
		if len(right) == 0 {
			t.Errorf("%s: why does not name the choice that is right: %s", e.ID, l.Why)
		}
		for _, r := range right {
			if !strings.Contains(l.Predict, r) {
				t.Errorf("%s: why names %s, which is no choice", e.ID, r)
			}
		}
	}
}

// A lesson points to experiments that exist, and to locks that can be moved by hand.
func TestLessonsPointToWhatExists(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	for _, e := range All() {
		number := experiments.Number(e.ID)
		l := e.Lesson
		for _, id := range ids.FindAllString(strings.Join([]string{l.Why, l.Fix, l.Limits, l.Next}, " "), -1) {
			if other, err := All().Find(id); err != nil || strings.Contains(id, "-") && id != other.ID {
				t.Errorf("%s points to %s: %v", e.ID, id, err)
			}
		}
		for _, id := range ids.FindAllString(code.ReplaceAllString(l.Next, ""), -1) {
			if id == e.ID || id == number {
				t.Errorf("%s: its next is itself", e.ID)
			}
		}
		for _, command := range byHand.FindAllStringSubmatch(l.Next, -1) {
			if other, err := All().Find(command[1]); err != nil || len(other.Interleavings) == 0 {
				t.Errorf("%s: %s cannot be moved by hand", e.ID, command[1])
			}
		}
	}
}
