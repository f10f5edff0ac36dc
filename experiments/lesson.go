package experiments

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// Lesson is what an experiment teaches. It is written by hand, in a Markdown file beside the claim. [ReadLesson] says how.
// Each text is Markdown, with an empty line between two paragraphs. The page adds what a run showed.
type Lesson struct {
	Title     string
	Question  string   // the situation, and what the reader is asked about it
	Predict   string   // what the choices have in common; may be empty
	Choices   []string // to think about before reading on, each with its letter: "(a) The second client waits."
	Drawing   string   // the interleaving, as a drawing in text
	How       string   // how the run makes it happen
	Why       string   // what happened, explained; it begins with the letter of the choice that is right
	Fix       string   // what to do about it
	Limits    string   // what the experiment does not show, and where the fix ends
	Says      string   // what the articles say about it, in our words; empty: none does
	Errata    []Erratum
	Elsewhere string // what no article says and the claim needs, each with its source; may be empty
	Next      string // related experiments, and what to try by hand
}

// Erratum is a point in which one article and a run disagree, or the article contradicts itself.
type Erratum struct {
	Article string // the one article that errs: A0 … A4
	Where   string // the place in the article, with some of its words in backticks
	What    string
}

// lessonParts are the headlines of a lesson's file, in their order, and what each fills.
var lessonParts = []struct {
	headline string
	optional bool
	fill     func(l *Lesson, text string) error
}{
	{"Question", false, func(l *Lesson, text string) error { l.Question = joined(text); return nil }},
	{"Predict", false, (*Lesson).predict},
	{"Drawing", false, (*Lesson).draw},
	{"How it runs", false, func(l *Lesson, text string) error { l.How = joined(text); return nil }},
	{"Why", false, func(l *Lesson, text string) error { l.Why = joined(text); return nil }},
	{"Fix", false, func(l *Lesson, text string) error { l.Fix = joined(text); return nil }},
	{"Limits", false, func(l *Lesson, text string) error { l.Limits = joined(text); return nil }},
	{"What the articles say", true, (*Lesson).articles},
	{"Known from elsewhere", true, func(l *Lesson, text string) error { l.Elsewhere = joined(text); return nil }},
	{"Try next", false, func(l *Lesson, text string) error { l.Next = joined(text); return nil }},
}

// LessonFile is the name of the file with an experiment's lesson: that of its Go file, if the Go file is named by the id.
func LessonFile(id string) string {
	return strings.ToLower(strings.ReplaceAll(id, "-", "_")) + ".md"
}

// ReadLesson reads the lesson of an experiment from its Markdown file. The first line is "# NUMBER · TITLE". The parts follow, each with
// its headline "## PART", in the order of lessonParts. The choices are a list. The drawing is a fenced block. An erratum is a
// part "### ARTICLE errs" below what the articles say; its first paragraph is "Place: PLACE".
//
// The error names the file, and says what is missing, unknown or in the wrong place.
func ReadLesson(files fs.FS, id string) (Lesson, error) {
	name := LessonFile(id)
	source, err := fs.ReadFile(files, name)
	if err != nil {
		return Lesson{}, fmt.Errorf("%s has no lesson: write %s beside its Go file, or copy another one: %w", id, name, err)
	}
	l, err := parseLesson(string(source), Number(id))
	if err != nil {
		return Lesson{}, fmt.Errorf("the lesson of %s, %s: %w", id, name, err)
	}
	return l, nil
}

func parseLesson(source, number string) (l Lesson, err error) {
	first, rest, _ := strings.Cut(source, "\n")
	title, named := strings.CutPrefix(first, "# "+number+" · ")
	if l.Title = strings.TrimSpace(title); !named || l.Title == "" {
		return l, fmt.Errorf("its first line must be %q and the title, and it is %q", "# "+number+" · ", first)
	}
	before, sections := sectionsOf("## ", rest)
	if before != "" {
		return l, fmt.Errorf("nothing may stand between the title and the first part: %q", before)
	}
	for _, part := range lessonParts {
		if len(sections) == 0 || sections[0].headline != part.headline {
			if !part.optional {
				err = errors.Join(err, fmt.Errorf("there is no %q, or it is in the wrong place", "## "+part.headline))
			}
			continue
		}
		text := sections[0].text
		sections = sections[1:]
		if text == "" {
			err = errors.Join(err, fmt.Errorf("%q is empty", "## "+part.headline))
		} else if wrong := part.fill(&l, text); wrong != nil {
			err = errors.Join(err, fmt.Errorf("%q: %w", "## "+part.headline, wrong))
		}
	}
	for _, s := range sections {
		err = errors.Join(err, fmt.Errorf("%q is no part of a lesson, or it is in the wrong place", "## "+s.headline))
	}
	return l, err
}

// section is a headline, and the text until the next one.
type section struct{ headline, text string }

// sectionsOf splits Markdown at its headlines of one level. before is what stands before the first one. A line in a fenced block is no
// headline.
func sectionsOf(level, source string) (before string, all []section) {
	text, fenced := &before, false
	for line := range strings.Lines(source) {
		fenced = fenced != strings.HasPrefix(line, "```")
		if headline, is := strings.CutPrefix(line, level); is && !fenced {
			all = append(all, section{headline: strings.TrimSpace(headline)})
			text = &all[len(all)-1].text
			continue
		}
		*text += line
	}
	for i := range all {
		all[i].text = strings.TrimSpace(all[i].text)
	}
	return strings.TrimSpace(before), all
}

// joined has a line for each paragraph: a file breaks its lines anywhere.
func joined(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(p), " ")
	}
	return strings.Join(paragraphs, "\n\n")
}

// choice is the beginning of one.
var choice = regexp.MustCompile(`(?m)^- (?:\([a-z]\) )`)

// predict reads the choices, which are a list at the end.
func (l *Lesson) predict(text string) error {
	at := choice.FindAllStringIndex(text, -1)
	for i, begin := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		l.Choices = append(l.Choices, joined(strings.TrimPrefix(text[begin[0]:end], "- ")))
		if want := fmt.Sprintf("(%c) ", 'a'+i); !strings.HasPrefix(l.Choices[i], want) {
			return fmt.Errorf("the choices must be a list with %q, %q and so on", "- (a) ", "- (b) ")
		}
	}
	if len(at) < 2 {
		return fmt.Errorf("there must be a list of choices: %q, %q and so on", "- (a) ", "- (b) ")
	}
	l.Predict = joined(strings.TrimSpace(text[:at[0][0]]))
	return nil
}

// draw reads the drawing, which is a fenced block.
func (l *Lesson) draw(text string) error {
	drawing, begins := strings.CutPrefix(text, "```text\n")
	drawing, ends := strings.CutSuffix(drawing, "\n```")
	if !begins || !ends {
		return errors.New("a drawing is a block that begins with ```text and ends with ```")
	}
	l.Drawing = drawing
	return nil
}

// articles reads what the articles say, and their errata.
func (l *Lesson) articles(text string) (err error) {
	says, errata := sectionsOf("### ", text)
	l.Says = joined(says)
	for _, e := range errata {
		article, errs := strings.CutSuffix(e.headline, " errs")
		place, what, _ := strings.Cut(e.text, "\n\n")
		where, placed := strings.CutPrefix(joined(place), "Place: ")
		if !errs || !placed || what == "" {
			err = errors.Join(err, fmt.Errorf("%q must be as %q, with a paragraph %q, and one that says what is wrong",
				"### "+e.headline, "### A2 errs", "Place: where it stands"))
		}
		l.Errata = append(l.Errata, Erratum{Article: article, Where: where, What: joined(what)})
	}
	return err
}
