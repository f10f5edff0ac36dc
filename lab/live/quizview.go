package live

import (
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"

	"locklab/lab/live/class"
)

// questionView is a question as a browser shows it.
type questionView struct {
	class.State
	MayGuess bool
	Trains   bool
	Class    bool
	Static   bool // see [Config]
	People   int  // participants
}

// keeps reports whether whatever has the answers must be kept from the viewer: a participant, before the trainer has shown them.
func (q questionView) keeps() bool { return q.Hidden() && !q.Trains }

// Hidden reports whether the guesses must not be sent: others would follow them, and nobody would look at what the run shows.
func (q questionView) Hidden() bool { return q.Class && !q.Told }

// Waits reports whether a run has ended, and its trainer has not shown the guesses.
func (q questionView) Waits() bool { return q.Class && !q.Open && !q.Runs && !q.Told }

// Shows reports whether a run has shown which guess is right, and the viewer may know it.
func (q questionView) Shows() bool { return q.Showed != "" && !q.Hidden() && !q.Runs }

// viewQuestion is the present state of a question for a viewer.
func (s *Server) viewQuestion(name string, v viewer) questionView {
	q := questionView{
		State: s.questions.Of(name, v.ID), MayGuess: s.class == nil || v.ID != "", Trains: v.Trains(), Static: s.cfg.Static,
	}
	if s.class != nil {
		q.Class, q.People = true, s.class.Size()
	}
	return q
}

// quizView is a quiz as a browser shows it.
type quizView struct {
	questionView              // the present one
	Last         questionView // of the newest run
	Name         string       // of the quiz
	Question     string       // name of the present one
	Viewer       viewer
	Ended        bool  // a run has ended
	Failed       error // the newest has not
	Stopped      bool  // that was wanted
	Stopping     bool
	Of           any // the data of the subject
	buttons
	After choices
	Wrong mistakes
	Typed url.Values               // the form that was refused; nil: none was
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

func (q *quiz) view(of viewer, wrong mistakes) *quizView {
	q.s.mu.Lock()
	v := &quizView{
		questionView: q.s.viewQuestion(q.question, of), Name: q.name, Question: q.question, Viewer: of, Wrong: wrong,
		Ended: q.ran != nil, ran: q.ran, Failed: q.failed, Stopped: errors.Is(q.failed, errStopped),
	}
	if u := q.s.busy[runPart(q.name)]; u != nil {
		v.Stopping = u.stopped
	}
	v.buttons = buttons{
		RunText: "Run it", CanRun: !v.Runs && (v.Open || !v.Class || !v.Ended), CanStop: v.Runs,
		AgainForm: "again", AgainText: "Guess again", CanAgain: !v.Runs && !v.Open,
	}
	if v.Class {
		v.RunForm = "run"
	}
	if v.Ended {
		v.Last = q.s.viewQuestion(q.ran.question, of)
		if after := q.ran.after; v.Class && after.Text != "" {
			v.After = v.choices("answer", q.s.viewQuestion(afterName(q.ran.question), of), after.Text, after.Choices, after.Right)
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
	at := q.subject.link()
	return page{
		Name: "quiz", Title: at.Text, At: at.To, Parts: append(q.subject.parts(), q.name), Body: q.name,
		Texts: map[string]template.HTML{q.name: template.HTML(q.s.fragment(q.subject.template(), v))},
	}
}

// choices are answers that can be pressed.
type choices struct {
	questionView
	Form, To string
	Text     string
	All      []string
	Mine     int    // -1: none
	Mistake  string // in that choice; empty: it is not told
	Right    int
	Keys     bool // each has a letter, which is its key
	Wrong    mistakes
}

func (v *quizView) choices(form string, q questionView, text string, all []string, right int) choices {
	c := choices{
		questionView: q, Form: form, To: "/ui/quiz/" + v.Name + "/" + form, Text: text, All: all, Mine: -1, Right: right,
		Keys: form == "guess", Wrong: v.Wrong,
	}
	if mine, err := strconv.Atoi(q.Mine); err == nil {
		c.Mine = mine
	}
	return c
}

// IsRight reports whether the viewer has chosen the right one.
func (c choices) IsRight() bool { return c.Mine == c.Right }

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

// Field is what somebody has typed into a field of a form that was refused, or else its value.
func (v quizView) Field(name string, value any) any {
	if typed, is := v.Typed[name]; is {
		return typed[0]
	}
	return value
}

// Checks reports whether a box of a form is checked. One that was refused is as it was sent; a field beside the box tells that it was.
func (v quizView) Checks(name, value string, checked bool, beside string) bool {
	if v.Typed.Has(beside) {
		return slices.Contains(v.Typed[name], value)
	}
	return checked
}

// mistakes are what is wrong, by the form or its field.
type mistakes map[string]string

// mistake is said beside a form, or a field. Without a text nothing is wrong there.
type mistake struct{ Form, Text string }

// At is what is wrong with a form, or a field.
func (m mistakes) At(form string) mistake { return mistake{form, m[form]} }
