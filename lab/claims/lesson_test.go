package claims

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/lab"
)

var (
	ids    = regexp.MustCompile(`\b[PGLFRSCDM]\d+(?:-[a-z-]+[a-z])?`)
	byHand = regexp.MustCompile("`app lab (?:step|explore) ([A-Z0-9]+)`")
	code   = regexp.MustCompile("`[^`]*`")
	letter = regexp.MustCompile(`\([a-z]\)`)
	right  = regexp.MustCompile(`^\([a-z]\)(?: and \([a-z]\))*[., ]`)
)

// A lesson says which choice is right.
func TestLessonsAnswer(t *testing.T) {
	for _, e := range All() {
		if (e.Says == "") != (len(e.Articles) == 0) {
			t.Errorf("%s names the articles %v, and its lesson says of them: %q", e.ID, e.Articles, e.Says)
		}
		if !ids.MatchString(e.Next) {
			t.Errorf("%s: its next names no experiment: %s", e.ID, e.Next)
		}
		if len(e.Choices) < 3 {
			t.Errorf("%s: there are %d choices to predict from", e.ID, len(e.Choices))
		}
		begin := right.FindString(e.Why)
		if begin == "" {
			t.Errorf("%s: why does not begin with the choice that is right: %s", e.ID, e.Why)
		}
		for _, r := range letter.FindAllString(begin, -1) {
			if !slices.ContainsFunc(e.Choices, func(choice string) bool { return strings.HasPrefix(choice, r+" ") }) {
				t.Errorf("%s: why names %s, which is no choice", e.ID, r)
			}
		}
	}
}

// The Markdown files are the lessons of the claims, and no others.
func TestEachLessonHasItsClaim(t *testing.T) {
	found, err := filepath.Glob("*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		claim, err := filepath.Glob(claimOf(name) + "_*.go")
		of := func(e lab.Experiment) bool { return lab.LessonFile(e.ID) == filepath.Base(name) }
		if err != nil || len(claim) == 0 || !slices.ContainsFunc(All(), of) {
			t.Errorf("%s is the lesson of no claim in its folder: %v", name, err)
		}
	}
}

// words are all texts of an experiment.
func words(e lab.Experiment) (all []string) {
	all = append([]string{e.Claim, e.Question, e.Predict, e.How, e.Why, e.Fix, e.Limits, e.Says, e.Elsewhere, e.Next}, e.Choices...)
	for _, erratum := range e.Errata {
		all = append(all, erratum.What)
	}
	return all
}

// A lesson points to experiments that exist, and to locks that can be moved by hand.
func TestLessonsPointToWhatExists(t *testing.T) {
	for _, e := range All() {
		number := lab.Number(e.ID)
		for _, id := range ids.FindAllString(strings.Join(words(e), " "), -1) {
			if other, err := All().Find(id); err != nil || strings.Contains(id, "-") && id != other.ID {
				t.Errorf("%s points to %s: %v", e.ID, id, err)
			}
		}
		for _, id := range ids.FindAllString(code.ReplaceAllString(e.Next, ""), -1) {
			if id == e.ID || id == number {
				t.Errorf("%s: its next is itself", e.ID)
			}
		}
		for _, command := range byHand.FindAllStringSubmatch(e.Next, -1) {
			if other, err := All().Find(command[1]); err != nil || len(other.Interleavings) == 0 {
				t.Errorf("%s: %s cannot be moved by hand", e.ID, command[1])
			}
		}
	}
}
