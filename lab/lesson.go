package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Lesson is what an experiment teaches. It is written by hand, in a Markdown file beside the claim. [ReadLesson] says how.
// Each text is Markdown, with an empty line between two paragraphs. The page adds what a run showed.
type Lesson struct {
	Title     string
	Question  string   // the situation, and what the reader is asked about it
	Predict   string   // what the choices have in common; may be empty
	Choices   []string // to think about before reading on, each with its letter: "(a) The second client waits."
	Right     int      // number of the choice that is right, from 0
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

// Paragraphs are those of one of the lesson's texts.
func Paragraphs(text string) []string { return strings.Split(text, "\n\n") }

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
	{"Question", false, prose(func(l *Lesson) *string { return &l.Question })},
	{"Predict", false, (*Lesson).predict},
	{"Drawing", false, (*Lesson).draw},
	{"How it runs", false, prose(func(l *Lesson) *string { return &l.How })},
	{"Why", false, (*Lesson).explain},
	{"Fix", false, prose(func(l *Lesson) *string { return &l.Fix })},
	{"Limits", false, prose(func(l *Lesson) *string { return &l.Limits })},
	{"What the articles say", true, (*Lesson).articles},
	{"Known from elsewhere", true, prose(func(l *Lesson) *string { return &l.Elsewhere })},
	{"Try next", false, prose(func(l *Lesson) *string { return &l.Next })},
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
	first, rest, _ := strings.Cut(strings.ReplaceAll(source, "\r\n", "\n"), "\n") // an editor on Windows may end lines so
	title, named := strings.CutPrefix(first, "# "+number+" · ")
	if l.Title = strings.TrimSpace(title); !named || l.Title == "" {
		return l, fmt.Errorf("its first line must be %q and the title, and it is %q", "# "+number+" · ", first)
	}
	before, sections := sectionsOf("## ", rest)
	if before != "" {
		err = fmt.Errorf("nothing may stand between the title and the first part: %q", before)
	}
	misplaced := func(all []section) {
		for _, s := range all {
			err = errors.Join(err, fmt.Errorf("%q is no part of a lesson, or it is in the wrong place", "## "+s.headline))
		}
	}
	for _, part := range lessonParts {
		i := slices.IndexFunc(sections, func(s section) bool { return s.headline == part.headline })
		if i < 0 {
			if !part.optional {
				err = errors.Join(err, fmt.Errorf("there is no %q, or it is in the wrong place", "## "+part.headline))
			}
			continue
		}
		misplaced(sections[:i])
		if wrong := part.fill(&l, sections[i].text); wrong != nil {
			err = errors.Join(err, fmt.Errorf("%q: %w", "## "+part.headline, wrong))
		}
		sections = sections[i+1:]
	}
	misplaced(sections)
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

// prose fills a text of paragraphs.
func prose(of func(l *Lesson) *string) func(l *Lesson, text string) error {
	return func(l *Lesson, text string) (err error) {
		if text == "" {
			return errors.New("it is empty")
		}
		*of(l), err = paragraphs(text)
		return err
	}
}

var (
	emptyLine = regexp.MustCompile(`\n[ \t]*\n`)
	// otherBlock is the beginning of a line that is no prose in Markdown: a list, a headline, a table, a quotation, code.
	otherBlock = regexp.MustCompile("(?m)^(?:[-*+] |[#>|]|\\d+[.)] |```|~~~|\t|    ).*")
)

// paragraphs has a line for each paragraph, and an empty line between two of them: a file breaks its lines anywhere. Not every place that
// shows a lesson has lists or tables, so the text must have none.
func paragraphs(text string) (string, error) {
	if other := otherBlock.FindString(text); other != "" {
		return "", fmt.Errorf("it must be paragraphs only, without %q", other)
	}
	var all []string
	for _, p := range emptyLine.Split(strings.TrimSpace(text), -1) {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, "\n\n"), nil
}

// choice is the beginning of one.
var choice = regexp.MustCompile(`(?m)^- \([a-z]\) `)

// predict reads the choices, which are a list at the end.
func (l *Lesson) predict(text string) (err error) {
	at := choice.FindAllStringIndex(text, -1)
	if len(at) < 2 {
		return fmt.Errorf("there must be a list of choices: %q, %q and so on", "- (a) ", "- (b) ")
	}
	for i, begin := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		item, err := paragraphs(unindented(strings.TrimPrefix(text[begin[0]:end], "- ")))
		if want := fmt.Sprintf("(%c) ", 'a'+i); err == nil && !strings.HasPrefix(item, want) {
			err = fmt.Errorf("the choices must be a list with %q, %q and so on", "- (a) ", "- (b) ")
		}
		if err == nil && strings.Contains(item, "\n") {
			err = fmt.Errorf("a choice must be one paragraph, and nothing may stand below the choices: %q", item)
		}
		if err != nil {
			return err
		}
		l.Choices = append(l.Choices, item)
	}
	l.Predict, err = paragraphs(text[:at[0][0]])
	return err
}

// explain reads what happened, which begins with the letter of the choice that is right.
func (l *Lesson) explain(text string) error {
	l.Right = slices.IndexFunc(l.Choices, func(choice string) bool { return strings.HasPrefix(text, choice[:len("(a)")]) })
	if l.Right < 0 {
		return fmt.Errorf("it must begin with the choice that is right: %q, %q and so on", "(a). ", "(b). ")
	}
	return prose(func(l *Lesson) *string { return &l.Why })(l, text)
}

// unindented removes the indentation of an item's lines.
func unindented(item string) string { return strings.ReplaceAll(item, "\n  ", "\n") }

// draw reads the drawing, which is a fenced block.
func (l *Lesson) draw(text string) error {
	drawing, begins := strings.CutPrefix(text, "```text\n")
	drawing, ends := strings.CutSuffix(drawing, "\n```")
	if !begins || !ends || strings.TrimSpace(drawing) == "" || strings.Contains(drawing, "```") {
		return errors.New("a drawing is one block that begins with ```text and ends with ```")
	}
	l.Drawing = drawing
	return nil
}

// articles reads what the articles say, and their errata.
func (l *Lesson) articles(text string) (err error) {
	says, errata := sectionsOf("### ", text)
	l.Says, err = paragraphs(says)
	for _, e := range errata {
		article, errs := strings.CutSuffix(e.headline, " errs")
		words, wrong := paragraphs(e.text)
		place, what, _ := strings.Cut(words, "\n\n")
		where, placed := strings.CutPrefix(place, "Place: ")
		if !errs || !placed || what == "" {
			wrong = errors.Join(wrong, fmt.Errorf("it must be as %q, with a paragraph %q, and one that says what is wrong",
				"### A2 errs", "Place: where it stands"))
		}
		if strings.Contains(what, "\n") {
			wrong = errors.Join(wrong, errors.New("what is wrong must be one paragraph: it is a row of a table, too"))
		}
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%q: %w", "### "+e.headline, wrong))
		}
		l.Errata = append(l.Errata, Erratum{Article: article, Where: where, What: what})
	}
	return err
}
