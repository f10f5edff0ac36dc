package lab

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Catalogue has experiments in the order in which they are listed. Package claims has the one of this program.
type Catalogue []Experiment

// A Group collects the experiments of a folder. Each adds itself where it is declared.
type Group struct {
	lessons fs.FS
	all     Catalogue
}

// NewGroup returns an empty group. lessons has the lessons of its experiments.
func NewGroup(lessons fs.FS) *Group { return &Group{lessons: lessons} }

// Add adds an experiment, and returns it with its lesson. It panics when the lesson is missing or not as [ReadLesson] wants it: lessons are
// part of the program.
func (g *Group) Add(e Experiment) Experiment {
	var err error
	if e.Lesson, err = ReadLesson(g.lessons, e.ID); err != nil {
		panic(err)
	}
	e.Claim = strings.Join(strings.Fields(e.Claim), " ") // it may be written in several lines
	g.all = append(g.all, e)
	return e
}

// Of returns the experiments whose ids begin with a letter, by their numbers.
func (g *Group) Of(letter byte) Catalogue {
	of := slices.DeleteFunc(slices.Clone(g.all), func(e Experiment) bool { return e.ID[0] != letter })
	slices.SortFunc(of, func(a, b Experiment) int {
		x, y := Number(a.ID), Number(b.ID)
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)) // R2 before R10
	})
	return of
}

// Number is the short form of an id: L03 of L03-foreign-unlock.
func Number(id string) string {
	number, _, _ := strings.Cut(id, "-")
	return number
}

// Find returns the experiment with an id, which may be shortened to its number: L03. The error of an unknown id names the
// similar ones.
func (c Catalogue) Find(id string) (Experiment, error) {
	var similar []string
	for _, e := range c {
		number := Number(e.ID)
		if strings.EqualFold(id, e.ID) || strings.EqualFold(id, number) {
			return e, nil
		}
		if distance(id, e.ID) <= 4 || distance(Number(id), number) <= 1 || strings.Contains(e.ID, strings.ToLower(id)) {
			similar = append(similar, e.ID)
		}
	}
	if len(similar) == 0 {
		return Experiment{}, fmt.Errorf("there is no experiment %q; app lab list shows all", id)
	}
	return Experiment{}, fmt.Errorf("there is no experiment %q; did you mean %s?", id, strings.Join(similar, ", "))
}

func distance(a, b string) int {
	return levenshtein.Distance(strings.ToLower(a), strings.ToLower(b), nil)
}
