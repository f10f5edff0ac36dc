package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"

	"locklab/internal/sentence"
)

// quiz asks what a run will show, runs it, and says who was right. A class is also asked what the run has shown, and its trainer shows the
// answers. A scene, an experiment and the burst are subjects.
type quiz struct {
	s       *Server
	name    string // in addresses, and of the part with the page
	subject subject

	// The lock of the server protects these.
	question string      // that is asked now
	number   int         // of the question, where each run asks a new one
	ran      *conclusion // the newest run that has ended; nil: there is none, or the question was asked anew since
	failed   error       // the newest run has not ended, so the one before is shown
}

// subject is what a quiz is about.
type subject interface {
	link() link                                      // to its page
	template() string                                // of the page
	parts() []string                                 // of the page that everybody sees alike
	check(r *http.Request) (guess string, err error) // of a form
	isRecorded(q *quiz) bool                         // its run takes no time, so it waits for no other
	run(ctx context.Context, q *quiz) conclusion     // shows the run meanwhile
	draw(q *quiz)                                    // fills the parts between two runs; it needs the lock
	data(q *quiz, v *quizView) any                   // for the template
	reset(q *quiz)                                   // shows no run any more, because a new class begins; it needs the lock
}

// conclusion is what a run came to.
type conclusion struct {
	failed error // it has not ended
	spoilt bool  // but somebody has seen what it shows, so the guesses are dropped

	question string                  // that was asked before it
	right    string                  // the guess that is right; empty: the run has not shown what it should
	good     func(guess string) bool // nil: only the one that is right
	after    afterwards
	result   any // of the subject
}

// afterwards is what a class is asked after a run: what was lost? People who expect something often see it, whatever happens.
// The second question makes them look at what the run has shown.
type afterwards struct {
	Text    string
	Choices []string
	Right   int // number of the choice, from 0
}

// afterName is the name of the question after the run of another question.
func afterName(question string) string { return question + "-after" }

// runPart is the part that shows the run of a quiz.
func runPart(name string) string { return name + "-run" }

// addQuiz makes a quiz, and the parts of its page.
func (s *Server) addQuiz(name string, of subject) *quiz {
	q := &quiz{s: s, name: name, question: name, subject: of}
	s.quizzes[name] = q
	for _, part := range of.parts() {
		s.board.put(part, "")
	}
	s.board.putEach(name, func(v viewer) string { return s.fragment(of.template(), q.view(v, nil)) })
	return q
}

// quizOf is the quiz that a request names. For an experiment the beginning of its id is enough.
func (s *Server) quizOf(r *http.Request) (*quiz, error) {
	name := r.PathValue("name")
	if q := s.quizzes[name]; q != nil {
		return q, nil
	}
	e, err := s.cfg.Catalogue.Find(name)
	return s.quizzes[e.ID], refuse(http.StatusNotFound, err)
}

// asks answers a form of a quiz.
func asks(do func(*quiz, *http.Request) error) answer {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		q, err := s.quizOf(r)
		if err != nil {
			return err
		}
		return q.respond(w, r, path.Base(r.URL.Path), do(q, r))
	}
}

// respond leads back to the page of a quiz. After an error the page says it beside the form, or in the field of a wrongField.
func (q *quiz) respond(w http.ResponseWriter, r *http.Request, form string, err error) error {
	to := q.subject.link().To
	if err == nil {
		q.s.keepClass()
		q.s.board.again(q.name)
		redirect(w, r, to, "The page "+q.s.origin(r.Host)+to+" shows what comes of it.")
		return nil
	}
	var of wrongField
	if errors.As(err, &of) {
		form = of.field
	}
	w.Header().Set(wrongHeader, form)
	if !wantsPage(r) {
		return err
	}
	v := q.view(q.s.viewerOf(r), mistakes{form: sentence.Of(err)})
	v.Typed = r.Form
	q.s.show(w, r, statusOf(err), q.page(v))
	return nil
}

// wrongField is an error in a field of a form.
type wrongField struct {
	error
	field string
}

func (w wrongField) Unwrap() error { return w.error }

// wrongHeader tells the script beside what to show an error: the form, or its field.
const wrongHeader = "Locklab-Wrong"

// guess takes what somebody expects. Without a class the run begins.
func (q *quiz) guess(r *http.Request) error {
	guess, err := q.subject.check(r)
	if err == nil {
		err = q.s.record(r, q.present(), guess)
	}
	if err == nil && q.s.class == nil {
		err = q.begin()
	}
	return err
}

// present is the name of the question that is asked now.
func (q *quiz) present() string {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	return q.question
}

// record notes a guess, unless the run has begun. The error says what to do.
func (s *Server) record(r *http.Request, question, guess string) error {
	v := s.viewerOf(r)
	s.mu.Lock() // no guess is left of who is removed meanwhile
	defer s.mu.Unlock()
	if s.class != nil {
		if err := s.class.AllowGuess(v.ID); err != nil {
			return err
		}
	}
	if !s.questions.Guess(question, v.ID, guess) {
		return refuse(http.StatusConflict, errors.New("it is too late: the run has begun, or the answers were shown"))
	}
	return nil
}

// pick is the number of the choice that a form has.
func pick(r *http.Request, of int) (string, error) {
	choice, err := strconv.Atoi(r.FormValue("choice"))
	if err != nil || choice < 0 || choice >= of {
		return "", refuse(http.StatusBadRequest, errors.New("choose one of the answers, and press it"))
	}
	return strconv.Itoa(choice), nil
}

func (q *quiz) run(*http.Request) error { return q.begin() }

// begin ends the guesses and queues the run, unless one waits or runs. When none can be queued, the guesses go on.
func (q *quiz) begin() error {
	q.s.mu.Lock()
	question, runs := q.question, q.s.questions.Of(q.question, "").Runs
	opened := !runs && q.s.questions.Close(question)
	q.s.mu.Unlock()
	if runs {
		return nil
	}
	run := func(ctx context.Context) func() {
		o := q.subject.run(ctx, q)
		o.question = question
		return func() { q.end(o, opened) }
	}
	if q.subject.isRecorded(q) {
		run(context.Background())()
		return nil
	}
	err := q.s.start(job{runPart(q.name), q.subject.link(), run})
	if err != nil {
		q.s.questions.NotRun(question, opened)
	}
	q.s.board.again(q.name)
	return err
}

// end shows what a run came to. After one that failed, the question and what is shown are as they were.
func (q *quiz) end(o conclusion, opened bool) {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	switch q.failed = o.failed; {
	case o.failed == nil && q.s.questions.Ended(o.question):
		q.score(o)
	case o.failed != nil && q.s.questions.NotRun(o.question, opened):
		if o.spoilt {
			q.s.questions.Reopen(o.question)
		}
	default: // a class began anew meanwhile, which was not asked
		q.subject.reset(q)
	}
	q.subject.draw(q)
	q.s.board.again(q.name)
}

// score notes which guesses are good. Without a class they are shown at once.
func (q *quiz) score(o conclusion) {
	if o.good == nil {
		o.good = func(guess string) bool { return guess == o.right }
	}
	if q.ran = &o; o.right != "" {
		q.s.questions.Answered(o.question, o.right, o.good)
	} else {
		o.after = afterwards{}
	}
	if q.s.class == nil {
		q.next()
		return
	}
	if !q.s.questions.Of(o.question, "").Told {
		q.s.questions.Reopen(afterName(o.question)) // answers about a run of a program before this one
	}
}

// next asks the next question, where each run asks a new one.
func (q *quiz) next() {
	for q.number > 0 && !q.s.questions.Of(q.question, "").Open {
		q.number++
		q.question = fmt.Sprintf("%s-%d", q.name, q.number)
	}
}

// stop stops the run.
func (q *quiz) stop(*http.Request) error {
	q.s.stop(runPart(q.name))
	q.s.stop(againPart(q.name))
	return nil
}

// answer takes what a participant has seen in the run.
func (q *quiz) answer(r *http.Request) error {
	q.s.mu.Lock()
	ran := q.ran
	q.s.mu.Unlock()
	if q.s.class == nil || ran == nil || ran.after.Text == "" {
		return refuse(http.StatusConflict, errors.New("nothing is asked now; wait until the run has ended"))
	}
	choice, err := pick(r, len(ran.after.Choices))
	if err == nil {
		err = q.s.record(r, afterName(ran.question), choice)
	}
	return err
}

// showAnswers shows a class the guesses, and what is right. They are scored if the run has shown what it should.
func (q *quiz) showAnswers(*http.Request) error {
	if q.s.class == nil {
		return errNoClass
	}
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	if q.ran == nil || !q.s.tellGuesses(q.ran.question) {
		return refuse(http.StatusConflict, errors.New("there is nothing to show: no run has ended since the answers were shown last"))
	}
	if a := q.ran.after; a.Text != "" {
		name, right := afterName(q.ran.question), strconv.Itoa(a.Right)
		q.s.questions.Close(name)
		q.s.questions.Ended(name)
		q.s.questions.Answered(name, right, func(guess string) bool { return guess == right })
		q.s.tellGuesses(name)
	}
	q.next()
	q.subject.draw(q)
	q.s.showClass()
	return nil
}

// tellGuesses lets everybody see the guesses of a question, and scores them once. It reports false when that is too early, or too late.
func (s *Server) tellGuesses(question string) (told bool) {
	good, told := s.questions.Tell(question)
	if good != nil {
		s.class.Score(question, good)
	}
	return told
}

// again asks the question anew, unless it runs.
func (q *quiz) again(*http.Request) error {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	if q.s.questions.Reopen(q.question) {
		q.forget()
	}
	return nil
}

// forget shows no run any more. It needs the lock.
func (q *quiz) forget() {
	if q.ran != nil {
		q.s.questions.Reopen(afterName(q.ran.question))
	}
	q.ran, q.failed = nil, nil
	q.subject.draw(q)
}

// newClass removes every participant and guess, and asks every question anew.
func (s *Server) newClass() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.class.Reset()
	s.questions.ReopenAll()
	for _, q := range s.quizzes {
		if !s.questions.Of(q.question, "").Runs {
			q.subject.reset(q)
		}
	}
}
