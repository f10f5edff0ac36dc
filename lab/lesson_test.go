package lab

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
		Choices: []string{"(a) One.", "(b) Two, in two lines."}, Right: 1, Drawing: "A  ├─ lock\n\n## no headline", How: "How.", Why: "(b). Why.",
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

// Nothing is lost of a list with empty lines, of empty lines with blanks, and of a file whose lines end by CRLF.
func TestALessonInOtherShapes(t *testing.T) {
	want, err := read(wholeLesson)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"CRLF":         strings.ReplaceAll(wholeLesson, "\n", "\r\n"),
		"a loose list": strings.Replace(wholeLesson, "- (b)", "\n- (b)", 1),
		"blanks":       strings.Replace(wholeLesson, "two lines.\n\nIts", "two lines.  \n \t\n\nIts", 1),
	} {
		if got, err := read(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Somebody who breaks a lesson is told the file, the part, and what must be there.
func TestABrokenLessonIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ old, changed, says string }{
		"another number":        {"# L99", "# L98", `its first line must be "# L99 · "`},
		"a quotation":           {"Fix.\n", "> Fix.\n", `without "> Fix."`},
		"two drawings":          {"A  ├─ lock\n", "A\n```\n\n```text\nB\n", "a drawing is one block"},
		"two wrongs":            {"What is\nwrong.\n", "What is\nwrong.\n\nMore.\n", "what is wrong must be one paragraph"},
		"a text before":         {"## Question", "Words.\n\n## Question", "nothing may stand between the title and the first part"},
		"a part is empty":       {"Limits.\n", "\n", `"## Limits": it is empty`},
		"a part comes twice":    {"## Fix", "## Fix\n\nFix.\n\n## Fix", `"## Fix" is no part of a lesson, or it is in the wrong place`},
		"one choice":            {"- (a) One.\n", "", "there must be a list of choices"},
		"a letter is left out":  {"- (b)", "- (c)", `"- (b) " and so on`},
		"an erratum's headline": {"### A2 errs", "### A2", `"### A2": it must be as "### A2 errs"`},
		"a table as text":       {"Limits.\n", "| a | b |\n", `without "| a | b |"`},
		"text below choices":    {"  two lines.\n", "  two lines.\n\nMore.\n", "nothing may stand below the choices"},
		"no right choice":       {"(b). Why.", "Why.", "it must begin with the choice that is right"},
		"an unknown choice":     {"(b). Why.", "(c). Why.", "it must begin with the choice that is right"},
		"no place":              {"Place: line", "Line", "with a paragraph"},
	} {
		text := strings.Replace(wholeLesson, c.old, c.changed, 1)
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "l99_an_example.md") {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
	}
	for _, part := range lessonParts {
		_, err := read(strings.Replace(wholeLesson, "## "+part.headline+"\n", "", 1))
		optional := part.headline == "What the articles say" || part.headline == "Known from elsewhere"
		if named := err != nil && strings.Contains(err.Error(), `there is no "## `+part.headline+`"`); named == optional {
			t.Errorf("without %q, which is optional: %v: %v", part.headline, optional, err)
		}
	}
	if _, err := ReadLesson(os.DirFS(t.TempDir()), "L99-an-example"); err == nil || !strings.Contains(err.Error(), "write l99_an_example.md") {
		t.Errorf("without a file: %v", err)
	}
}
