package live

import (
	"errors"
	"net/http"
	"strconv"
)

// afterwards is what a class is asked after a run: what was lost? People who expect something often see it, whatever happens.
// The second question makes them look at what the run has shown.
type afterwards struct {
	Text    string
	Choices []string
	Right   int // number of the choice, from 0
}

// howMany asks for a number from 0 to most.
func howMany(text string, right, most int) afterwards {
	a := afterwards{Text: text, Right: right}
	for n := range most + 1 {
		a.Choices = append(a.Choices, strconv.Itoa(n))
	}
	return a
}

// afterName is the name of the question after the run of another question.
func afterName(question string) string { return question + "-after" }

// askAfterwards asks a class what the run of a question has shown. Without a class nobody is asked.
func (s *Server) askAfterwards(question string, a afterwards) {
	if s.class == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after[question] = a
}

// forget drops what is asked after the run of a question.
func (s *Server) forget(question string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.after, question)
	s.questions.Reopen(afterName(question))
}

// forgetAll drops all that is asked after runs.
func (s *Server) forgetAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.after)
}

func (s *Server) afterOf(question string) afterwards {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.after[question]
}

// afterView is the question after a run, as a browser shows it.
type afterView struct {
	asked
	afterwards
	To   string // where an answer goes
	Mine int    // -1: none
}

// Votes is how many have chosen a choice.
func (v afterView) Votes(choice int) int { return v.Counts[strconv.Itoa(choice)] }

// afterCount is the part that says how many have answered. It is none of the part with the buttons: the answer of another participant must
// not replace a button that somebody presses.
func afterCount(part string) string { return part + "-count" }

// showAfter shows the question after the run of another question.
func (s *Server) showAfter(part, question, to string) {
	each := func(part, template string) {
		s.board.putEach(part, func(viewing viewer) string {
			v := afterView{s.ask(afterName(question), viewing), s.afterOf(question), to, -1}
			if mine, err := strconv.Atoi(v.asked.Mine); err == nil {
				v.Mine = mine
			}
			return s.fragment(template, v)
		})
	}
	each(part, "afterwards")
	each(afterCount(part), "answered")
}

// answer takes what a participant has seen in the run of a question.
func (s *Server) answer(r *http.Request, question string) error {
	choice, err := strconv.Atoi(r.FormValue("choice"))
	switch a := s.afterOf(question); {
	case a.Text == "":
		return refuse(http.StatusConflict, errors.New("nothing is asked now; wait until the run has ended"))
	case err != nil || choice < 0 || choice >= len(a.Choices):
		return refuse(http.StatusBadRequest, errors.New("choose one of the answers, and press it"))
	}
	return s.guess(afterName(question), s.viewerOf(r), strconv.Itoa(choice))
}

// tell shows a class the guesses and answers of a question whose run has ended. They are scored if the run has shown what it should.
func (s *Server) tell(question string) error {
	if s.class == nil {
		return errNoClass
	}
	s.ending.Lock()
	defer s.ending.Unlock()
	good, told := s.questions.Tell(question)
	if !told {
		return refuse(http.StatusConflict, errors.New("there is nothing to show: no run has ended since the answers were shown last"))
	}
	if good != nil {
		s.class.Score(question, good)
	}
	if a := s.afterOf(question); a.Text != "" {
		name, right := afterName(question), strconv.Itoa(a.Right)
		s.questions.Close(name)
		s.questions.Ended(name)
		s.questions.Answered(name, right, func(guess string) bool { return guess == right })
		seen, _ := s.questions.Tell(name)
		s.class.Score(name, seen)
	}
	s.showClass()
	return nil
}
