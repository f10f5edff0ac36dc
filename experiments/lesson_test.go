package experiments

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

const wholeLesson = `# L99 · The title

## Question

A text in
two lines.

Its second paragraph?

## Predict

What the choices have in common.

- (a) One.
- (b) Two, in
  two lines.

## Drawing

` + "```text" + `
A  ├─ lock

## no headline
` + "```" + `

## How it runs

How.

## Why

(b). Why.

## Fix

Fix.

## Limits

Limits.

## What the articles say

They say.

### A2 errs

Place: line 7,
` + "`del`" + `.

What is
wrong.

### A3 errs

Place: elsewhere

This, too.

## Known from elsewhere

Elsewhere.

## Try next

L05.
`

func read(text string) (Lesson, error) {
	return ReadLesson(fstest.MapFS{"l99_an_example.md": {Data: []byte(text)}}, "L99-an-example")
}

func TestReadLesson(t *testing.T) {
	got, err := read(wholeLesson)
	want := Lesson{
		Title: "The title", Question: "A text in two lines.\n\nIts second paragraph?", Predict: "What the choices have in common.",
		Choices: []string{"(a) One.", "(b) Two, in two lines."}, Drawing: "A  ├─ lock\n\n## no headline", How: "How.", Why: "(b). Why.",
		Fix: "Fix.", Limits: "Limits.", Says: "They say.",
		Errata: []Erratum{
			{Article: "A2", Where: "line 7, `del`.", What: "What is wrong."}, {Article: "A3", Where: "elsewhere", What: "This, too."},
		},
		Elsewhere: "Elsewhere.", Next: "L05.",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Only what the articles say and what is known from elsewhere may be missing: an experiment may go beyond the articles.
func TestALessonWithoutArticles(t *testing.T) {
	before, _, _ := strings.Cut(wholeLesson, "## What the articles say")
	if l, err := read(before + "## Try next\n\nL05.\n"); err != nil || l.Says != "" || l.Next != "L05." {
		t.Errorf("got %+v, %v", l, err)
	}
}

// Somebody who breaks a lesson is told the file, the part, and what must be there.
func TestABrokenLessonIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ old, changed, says string }{
		"another number":        {"# L99", "# L98", `its first line must be "# L99 · "`},
		"no title":              {" The title", "", "its first line must be"},
		"a text before":         {"## Question", "Words.\n\n## Question", "nothing may stand between the title and the first part"},
		"a part is missing":     {"## Fix\n\nFix.\n", "", `there is no "## Fix"`},
		"a part is empty":       {"Limits.\n", "\n", `"## Limits" is empty`},
		"a part has no name":    {"## Limits", "## Limit", `"## Limit" is no part of a lesson`},
		"a part comes too late": {"## Why\n\n(b). Why.\n\n## Fix\n\nFix.\n", "## Fix\n\nFix.\n\n## Why\n\n(b). Why.\n", `"## Why"`},
		"a part comes twice":    {"## Fix", "## Fix\n\nFix.\n\n## Fix", `"## Fix" is no part of a lesson, or it is in the wrong place`},
		"no choices":            {"- (a) One.\n- (b) Two, in\n  two lines.\n", "", "there must be a list of choices"},
		"one choice":            {"- (a) One.\n", "", `the choices must be a list with "- (a) "`},
		"a letter is left out":  {"- (b)", "- (c)", `"- (b) " and so on`},
		"no fence":              {"```text\n", "", "a drawing is a block"},
		"an erratum's headline": {"### A2 errs", "### A2", `"### A2" must be as "### A2 errs"`},
		"no place":              {"Place: line", "Line", "with a paragraph"},
		"nothing is wrong":      {"What is\nwrong.\n", "", "one that says what is wrong"},
	} {
		text := strings.Replace(wholeLesson, c.old, c.changed, 1)
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "l99_an_example.md") {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
	}
	if _, err := ReadLesson(os.DirFS(t.TempDir()), "L99-an-example"); err == nil || !strings.Contains(err.Error(), "write l99_an_example.md") {
		t.Errorf("without a file: %v", err)
	}
}
