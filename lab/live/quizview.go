package live

import (
	"errors"
	"fmt"
	"html/template"
	"strconv"

	"locklab/lab/live/class"
)

// asked is a question as a browser shows it.
type asked struct {
	class.State
	MayGuess bool
	Trains   bool
	Class    bool
	People   int // participants
}

// keeps reports whether whatever has the answers must be kept from the viewer: a participant, before the trainer has shown them.
func (a asked) keeps() bool { return a.Hidden() && !a.Trains }

// Hidden reports whether the guesses must not be sent: others would follow them, and nobody would look at what the run shows.
func (a asked) Hidden() bool { return a.Class && !a.Told }

// Waits reports whether a run has ended, and its trainer has not shown the guesses.
func (a asked) Waits() bool { return a.Class && !a.Open && !a.Runs && !a.Told }

// Shows reports whether a run has shown which guess is right, and the viewer may know it.
func (a asked) Shows() bool { return a.Showed != "" && !a.Hidden() && !a.Runs }

// ask is the present state of a question for a viewer.
func (s *Server) ask(name string, v viewer) asked {
	a := asked{State: s.questions.Of(name, v.ID), MayGuess: s.class == nil || v.ID != "", Trains: v.Trains()}
	if s.class != nil {
		a.Class, a.People = true, s.class.Size()
	}
	return a
}

// quizView is a quiz as a browser shows it.
type quizView struct {
	asked           // the present question
	Last     asked  // the question of the newest run
	Name     string // of the quiz
	Question string // name of the present one
	Viewer   viewer
	Ended    bool  // a run has ended
	Failed   error // the newest has not
	Stopped  bool  // that was wanted
	Stopping bool
	Of       any // the data of the subject
	buttons
	After choices
	Wrong map[string]string        // what is wrong, by the form or its field
	Texts map[string]template.HTML // of the parts that everybody sees alike; nil: they are on the page
	ran   *conclusion
}

// buttons are those of whoever may run, apart from “Show answers”.
type buttons struct {
	RunForm              string // that “Run it” sends; empty: there is no such button
	RunText              string
	AgainForm, AgainText string
	CanRun               bool
	CanStop              bool
	CanAgain             bool
}

func (q *quiz) view(of viewer, beside map[string]string) *quizView {
	q.s.mu.Lock()
	v := &quizView{
		asked: q.s.ask(q.question, of), Name: q.name, Question: q.question, Viewer: of, Ended: q.ran != nil, ran: q.ran, Wrong: beside,
		Failed: q.failed, Stopped: errors.Is(q.failed, errStopped),
	}
	if u := q.s.busy[runPart(q.name)]; u != nil {
		v.Stopping = u.stopped
	}
	v.buttons = buttons{
		RunText: "Run it", CanRun: !v.Runs && (v.Open || !v.Class), CanStop: v.Runs,
		AgainForm: "again", AgainText: "Guess again", CanAgain: !v.Runs && !v.Open,
	}
	if v.Class {
		v.RunForm = "run"
	}
	if v.Ended {
		v.Last = q.s.ask(q.ran.question, of)
		if after := q.ran.after; v.Class && after.Text != "" {
			v.After = v.choices("answer", q.s.ask(afterName(q.ran.question), of), after.Text, after.Choices, after.Right)
		}
	}
	q.s.mu.Unlock()
	v.Of = q.subject.data(q, v)
	return v
}

// page is the page of a quiz.
func (q *quiz) page(v *quizView) page {
	v.Texts = make(map[string]template.HTML)
	for _, part := range q.subject.parts() {
		v.Texts[part] = template.HTML(q.s.board.get(part, v.Viewer))
	}
	of := q.subject.link()
	return page{
		Name: "quiz", Title: of.Text, At: of.To, Parts: append(q.subject.parts(), q.name), Body: q.name,
		Texts: map[string]template.HTML{q.name: template.HTML(q.s.fragment(q.subject.template(), v))},
	}
}

// choices are answers that can be pressed.
type choices struct {
	asked
	Form, To string
	Text     string
	All      []string
	Mine     int // -1: none
	Right    int
	Keys     bool // each has a letter, which is its key
	Wrong    map[string]string
}

func (v *quizView) choices(form string, a asked, text string, all []string, right int) choices {
	c := choices{
		asked: a, Form: form, To: "/ui/quiz/" + v.Name + "/" + form, Text: text, All: all, Mine: -1, Right: right, Keys: form == "guess",
		Wrong: v.Wrong,
	}
	if mine, err := strconv.Atoi(a.Mine); err == nil {
		c.Mine = mine
	}
	return c
}

// vote is how many have chosen something.
type vote struct {
	N, Of int
	Right bool
}

// Vote is that of a choice.
func (c choices) Vote(choice int) vote {
	return vote{c.Counts[strconv.Itoa(choice)], c.Guesses, c.Shows() && choice == c.Right}
}

// Voted is the vote of the choice that is right.
func (c choices) Voted() string { return fmt.Sprintf("%d of %d", c.Vote(c.Right).N, c.Guesses) }

// wrong is what is said beside a form, or a field.
type wrong struct{ Form, Text string }

// WrongAt is what is wrong there; without a text nothing is.
func (v quizView) WrongAt(form string) wrong { return wrong{form, v.Wrong[form]} }

// WrongAt is what is wrong with the choice.
func (c choices) WrongAt(form string) wrong { return wrong{form, c.Wrong[form]} }
