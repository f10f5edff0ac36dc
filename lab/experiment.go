package lab

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/agext/levenshtein"

	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

// Experiment is one claim, and how to see whether it is true. Its variants act and record. Check, a pure function, finds
// violations in what was recorded. The judge compares them with what the variants expect.
type Experiment struct {
	ID       string   // stable, as in the catalogue: L03-foreign-unlock
	Articles Articles // that make the claim; none: it goes beyond them
	Claim    string   // one sentence
	Level    Level
	Start    bool   // one of the first to look at
	Lesson          // read from its file, beside the claim
	Anomaly  string // its column in the matrix; empty: it has none
	Schedule

	Check func(trial []history.Event) []history.Violation
	Curve Curve // of its measurements; zero: none
	// Interleavings are locks made of steps, and what is expected of all interleavings of these. app lab step and app lab
	// explore use them.
	Interleavings []Interleavings
	Variants      []Variant // the control first: without it nothing is shown
}

// Articles are some of the five: A0 … A4.
type Articles []string

func (a Articles) String() string { return cmp.Or(strings.Join(a, ", "), "no article") }

// Schedule says where and when an experiment can run, and for how long.
type Schedule struct {
	Needs  []Need
	Docker time.Duration // as Takes, when its Redis runs in the compose file's containers; 0: it cannot
	Alone  bool          // it measures, so no other experiment runs at the same time
	Slow   bool          // it waits for a real failover, or a real clock: not in a quick run
	Takes  time.Duration // about, with its own number of trials, on two cores
	Trials int           // of each variant; 0: 3
}

// Curve is a plot of what one variant measures: a point for each timeline, by its medians of two quantities.
type Curve struct {
	Variant  string
	X, Y     Quantity
	Line     string // with which the timelines begin whose points are joined; the others have points beside the line
	Compared string // the timeline with which all are compared; empty: none
}

// Level is how much a reader should know before an experiment.
type Level int

// The levels.
const (
	Basic    Level = iota // nothing
	Medium                // what a lock with a lease is
	Advanced              // failover, clocks or the steps of a protocol
)

func (l Level) String() string { return [...]string{"basic", "medium", "advanced"}[l] }

// Variant is one way to run an experiment.
type Variant struct {
	Name     string
	Expect   Expect
	Strategy string            // its row in the matrix; empty: it has none
	Anomaly  string            // its column there, where that is not the experiment's
	Fault    bool              // each trial must record a fault with its proof, or it proves nothing
	Needs    []Need            // without them the variant is left out, and the experiment runs all the same
	Slow     bool              // it takes long, and a quick run leaves it out
	Trials   int               // where the experiment's own number would take too long; 0: that number
	Every    explore.Violation // the run plays all interleavings: [history.Interleaving] stands before each, this behind each that violates
	Run      Scenario
}

// Scenario acts and records. A step without which the trial shows nothing goes through [Trial.Must].
type Scenario func(ctx context.Context, t *Trial)

// Interleavings is a lock of which every interleaving of the steps is tried.
type Interleavings struct {
	Lock      articlelock.Lock
	Bounds    explore.Bounds
	Violation explore.Violation // that is looked for
	Expect    Expect            // Never: in no interleaving
}

// Control is the variant that shows that there is no violation without its cause.
func (e Experiment) Control() Variant { return e.Variants[0] }

// Needed names what an experiment needs beside this program.
func (e Experiment) Needed() string {
	return cmp.Or(needed(e.Needs), "nothing")
}

// Optional names what some variants need; without it they are left out.
func (e Experiment) Optional() string {
	var all []Need
	for _, v := range e.Variants {
		all = append(all, v.Needs...)
	}
	slices.Sort(all)
	return needed(slices.Compact(all))
}

func needed(needs []Need) string {
	all := make([]string, len(needs))
	for i, n := range needs {
		all[i] = string(n)
	}
	return strings.Join(all, ", ")
}

// Explored is what every interleaving of a lock's steps shows.
type Explored struct {
	Of      Interleavings
	Found   explore.Found
	Verdict Verdict // on what is expected of them
}

// Explore tries every interleaving.
func (i Interleavings) Explore(ctx context.Context) (Explored, error) {
	f, err := explore.Explore(ctx, i.Lock, i.Bounds, i.Violation)
	if err != nil {
		return Explored{}, err
	}
	return Explored{i, f, Judge(i.Expect, Outcome{Trials: 1, Violations: f.Violating.Sign()})}, nil
}

// Catalogue has experiments in the order in which they are listed. Package claims has the one of this program.
type Catalogue []Experiment

// A Group collects the experiments of a folder. Each adds itself where it is declared.
type Group struct {
	lessons fs.FS
	all     Catalogue
}

// NewGroup returns an empty group. lessons has the lessons of its experiments.
func NewGroup(lessons fs.FS) *Group { return &Group{lessons: lessons} }

// Add adds an experiment, and returns it without its lesson.
func (g *Group) Add(e Experiment) Experiment {
	e.Claim = strings.Join(strings.Fields(e.Claim), " ") // it may be written in several lines
	g.all = append(g.all, e)
	return e
}

// WrongLesson is what [Group.Of] panics with.
type WrongLesson struct{ error }

// Of returns the experiments whose ids begin with a letter, by their numbers. It reads their lessons, and panics when one is missing or
// not as [ReadLesson] wants it: lessons are part of the program. Most processes of this program, such as the clients of a trial, need none.
func (g *Group) Of(letter byte) (of Catalogue) {
	for _, e := range g.all {
		if e.ID[0] != letter {
			continue
		}
		var err error
		if e.Lesson, err = ReadLesson(g.lessons, e.ID); err != nil {
			panic(WrongLesson{err})
		}
		of = append(of, e)
	}
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
		if distance(id, e.ID) <= 4 || isNear(Number(id), number) || len(id) > 2 && strings.Contains(e.ID, strings.ToLower(id)) {
			similar = append(similar, e.ID)
		}
	}
	if len(similar) == 0 {
		return Experiment{}, fmt.Errorf("there is no experiment %q; app lab list shows all", id)
	}
	return Experiment{}, fmt.Errorf("there is no experiment %q; did you mean %s?", id, strings.Join(similar, ", "))
}

// isNear reports whether two numbers are of one subject, and differ in one character: L3 and L03.
func isNear(a, b string) bool {
	return strings.EqualFold(a[:min(1, len(a))], b[:1]) && distance(a, b) <= 1
}

func distance(a, b string) int {
	return levenshtein.Distance(strings.ToLower(a), strings.ToLower(b), nil)
}
