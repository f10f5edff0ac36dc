package live

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"sync"

	"locklab/lab"
	"locklab/lab/live/stage"
	"locklab/lab/report/html"
)

// experiment is an experiment of the catalogue, which a quiz is about.
type experiment struct {
	lab.Experiment
	before, after link // the experiments beside it

	mu    sync.Mutex // of the list of saved runs, whose verdicts take some time
	names []string
	saved []listedRun
}

func (x *experiment) link() link       { return linkTo(x.Experiment) }
func (x *experiment) template() string { return "experiment" }
func (x *experiment) parts() []string  { return []string{runPart(x.ID)} }

func linkTo(e lab.Experiment) link { return link{"/ui/experiments/" + e.ID, cmp.Or(e.Title, e.ID)} }

func (x *experiment) check(r *http.Request) (string, error) { return pick(r, len(x.Choices)) }

func (x *experiment) isRecorded(*quiz) bool { return false }

// addExperiments makes a quiz about each experiment.
func (s *Server) addExperiments() {
	all := s.cfg.Catalogue
	for i, e := range all {
		s.addQuiz(e.ID, &experiment{Experiment: e, before: linkTo(all[(i+len(all)-1)%len(all)]), after: linkTo(all[(i+1)%len(all)])})
	}
}

// experimentRan is what the run of an experiment has shown.
type experimentRan struct {
	NotSaved          string
	AsExpected        bool
	Outcome, Verdicts template.HTML
}

// run runs the experiment, and saves it.
func (x *experiment) run(ctx context.Context, q *quiz) conclusion {
	o, now := q.s.cfg.Options, newRunNow(x.Experiment, stage.Options{})
	o.Store = q.s.cfg.Store
	r := q.s.runLab(ctx, x.Experiment, o, now, func() {
		q.s.board.putMade(runPart(q.name), func() string { return q.s.fragment("runs", now.view()) })
	})
	if r.Record.Interrupted {
		return conclusion{failed: cmp.Or(context.Cause(ctx), errStopped)}
	}
	ran := experimentRan{
		NotSaved: r.NotSaved, AsExpected: r.Judgement.Verdict == lab.AsExpected,
		Outcome:  markup(func(w io.Writer) error { return html.Outcome(w, r.Saved) }),
		Verdicts: markup(func(w io.Writer) error { return html.Verdicts(w, r.Saved) }),
	}
	end := conclusion{result: ran}
	if ran.AsExpected {
		end.right = strconv.Itoa(x.Right)
	}
	return end
}

// draw shows what the newest run has shown.
func (x *experiment) draw(q *quiz) {
	if q.ran == nil {
		q.s.board.put(runPart(q.name), "")
		return
	}
	q.s.board.put(runPart(q.name), q.s.fragment("ran", q.ran.result))
}

func (x *experiment) reset(q *quiz) { q.forget() }

// experimentView is an experiment as its page shows it.
type experimentView struct {
	lab.Experiment
	Asked         choices
	Missing       error // that it needs
	Ran           experimentRan
	Explains      bool
	Runs          []listedRun
	Before, After link
	Program       string
}

func (x *experiment) data(q *quiz, v *quizView) any {
	var texts []string
	for _, choice := range x.Choices {
		texts = append(texts, choice[len("(a) "):])
	}
	of := experimentView{
		Experiment: x.Experiment, Missing: q.s.cfg.Options.CannotRun(x.Experiment), Explains: v.Trains || !v.Open && !v.Hidden(),
		Asked:  v.choices("guess", v.questionView, cmp.Or(x.Predict, "What do you expect?"), texts, x.Right),
		Before: x.before, After: x.after, Program: q.s.cfg.Program,
	}
	if v.Ended {
		of.Ran = v.ran.result.(experimentRan)
	}
	if !v.keeps() {
		of.Runs = x.runs(q.s)
	}
	switch {
	case of.Missing != nil:
		v.RunForm = ""
	case !v.Class && v.Open:
		v.RunForm, v.RunText = "run", "Run it without a guess"
	case !v.Class:
		v.RunForm, v.RunText = "run", "Run it again"
	}
	return of
}

// experimentOf is the experiment that a request names.
func (s *Server) experimentOf(r *http.Request) (lab.Experiment, error) {
	e, err := s.cfg.Catalogue.Find(r.PathValue("id"))
	return e, refuse(http.StatusNotFound, err)
}

// experimentPage is the page of an experiment.
func (s *Server) experimentPage(r *http.Request) (page, error) {
	e, err := s.experimentOf(r)
	if err != nil {
		return page{}, err
	}
	s.lead(r, fmt.Sprintf("experiment %s", e.ID))
	q := s.quizzes[e.ID]
	return q.page(q.view(s.viewerOf(r), nil)), nil
}
