package live

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"locklab/lab"
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

func (x *experiment) check(r *http.Request) (string, error) { return pick(r, x.Choices) }

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
	o, now := q.s.cfg.Options, &runNow{variants: x.Variants}
	o.Store = q.s.cfg.Store
	r := q.s.runLab(ctx, x.Experiment, o, now, func() {
		q.s.board.putMade(runPart(q.name), func() string { return q.s.fragment("runs", now.copy()) })
	})
	if r.Record.Interrupted {
		return conclusion{failed: cmp.Or(context.Cause(ctx), errStopped)}
	}
	ran := experimentRan{
		NotSaved: r.NotSaved, AsExpected: r.Judgement.Verdict == lab.AsExpected,
		Outcome:  markup(func(w io.Writer) error { return html.Outcome(w, r.Saved) }),
		Verdicts: markup(func(w io.Writer) error { return html.Verdicts(w, r.Saved) }),
	}
	violating := 0
	for _, v := range r.Judgement.Variants {
		if v.Violations > 0 {
			violating++
		}
	}
	const asks = "Now that you have seen it: in how many of the variants did the run show a violation?"
	end := conclusion{result: ran, after: howMany(asks, violating, len(x.Variants))}
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

// experimentView is an experiment as its page shows it.
type experimentView struct {
	lab.Experiment
	Asked         choices
	Missing       error // that it needs
	Ran           experimentRan
	Shows         bool // what is right
	IsRight       bool
	Explains      bool
	Runs          []listedRun
	Before, After link
	Program       string
}

func (x *experiment) data(q *quiz, v *quizView) any {
	asked := v.choices("guess", v.asked, cmp.Or(x.Predict, "What do you expect?"), x.texts(), x.Right)
	of := experimentView{
		Experiment: x.Experiment, Asked: asked, Missing: q.s.cfg.Options.CannotRun(x.Experiment), Shows: v.Shows(),
		IsRight: asked.Mine == asked.Right, Explains: v.Trains || !v.Open && !v.Hidden(),
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

// texts are those of the choices, without their letters.
func (x *experiment) texts() (all []string) {
	for _, choice := range x.Choices {
		all = append(all, choice[len("(a) "):])
	}
	return all
}

// runs are the newest saved ones.
func (x *experiment) runs(s *Server) []listedRun {
	x.mu.Lock()
	defer x.mu.Unlock()
	if names := lab.History(s.cfg.Store, x.ID); !slices.Equal(names, x.names) {
		x.names, x.saved = names, s.listedRuns(x.Experiment)
	}
	return x.saved
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
