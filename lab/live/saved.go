package live

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/report/html"
	"locklab/lab/report/outcome"
)

// newestVerdict is what the newest saved run of an experiment showed.
func (s *Server) newestVerdict(r *http.Request, e lab.Experiment) template.HTML {
	names := lab.History(s.cfg.Store, e.ID)
	if len(names) == 0 || s.keepsRuns(r, e) {
		return ""
	}
	return shown(outcome.Whole(s.cfg.Catalogue.Judged(filepath.Join(s.cfg.Store, e.ID, names[0])).Judgement.Verdict))
}

// keepsRuns reports whether the saved runs of an experiment must be kept from a viewer: they have the answers.
func (s *Server) keepsRuns(r *http.Request, e lab.Experiment) bool {
	return s.viewQuestion(e.ID, s.viewerOf(r)).keeps()
}

// listedRun is a run that can be opened.
type listedRun struct {
	Name    string // of its folder
	When    string // it was saved
	Telling int    // number of the variant that is replayed first: one with a violation, if there is one
	Verdict template.HTML
}

// runs are the newest saved ones.
func (x *experiment) runs(s *Server) []listedRun {
	x.mu.Lock()
	defer x.mu.Unlock()
	names := lab.History(s.cfg.Store, x.ID)
	if slices.Equal(names, x.names) {
		return x.saved
	}
	x.names, x.saved = names, nil
	for _, name := range names[:min(mostRuns, len(names))] {
		run := s.cfg.Catalogue.Judged(filepath.Join(s.cfg.Store, x.ID, name)).Judgement
		telling := slices.IndexFunc(run.Variants, func(v lab.VariantJudgement) bool { return v.Violation != nil })
		x.saved = append(x.saved, listedRun{name, when(name, time.Now()), max(telling, 0) + 1, shown(outcome.Whole(run.Verdict))})
	}
	return x.saved
}

// mostRuns bounds the saved runs that the page of an experiment lists.
const mostRuns = 10

// when says when a run was saved, as a person says it now. Its folder is named after that time.
func when(name string, now time.Time) string {
	saved, err := time.Parse("20060102T150405.000Z", name)
	if err != nil {
		return name
	}
	saved = saved.In(now.Location())
	day := func(t time.Time) string { return t.Format(time.DateOnly) }
	switch day(saved) {
	case day(now):
		return "today " + saved.Format("15:04")
	case day(now.AddDate(0, 0, -1)):
		return "yesterday " + saved.Format("15:04")
	}
	return saved.Format("2 January 2006, 15:04")
}

// savedRun is the run that a request names.
func (s *Server) savedRun(r *http.Request) (saved lab.Saved, err error) {
	e, err := s.experimentOf(r)
	if err != nil {
		return saved, err
	}
	if s.keepsRuns(r, e) {
		return saved, refuse(http.StatusForbidden, errors.New("a saved run has the answers; wait until the trainer has shown them"))
	}
	run := r.PathValue("run")
	if !slices.Contains(lab.History(s.cfg.Store, e.ID), run) {
		return saved, refuse(http.StatusNotFound,
			fmt.Errorf("this run of %s is not saved; the page of the experiment lists those that are", e.ID))
	}
	return s.cfg.Catalogue.Open(filepath.Join(s.cfg.Store, e.ID, run)), nil
}

// report writes the report of a saved run. It has a policy of its own, because it is one file.
func (s *Server) report(w http.ResponseWriter, r *http.Request) error {
	saved, err := s.savedRun(r)
	if err == nil {
		w.Header().Del("Content-Security-Policy")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = html.Run(w, saved, "/ui/experiments/"+saved.Experiment.ID)
	}
	return err
}

// replay draws a trial of a saved run once more, event by event: the trial that the report shows.
func (s *Server) replay(r *http.Request) (page, error) {
	saved, err := s.savedRun(r)
	if err != nil {
		return page{}, err
	}
	number, _ := strconv.Atoi(r.PathValue("variant"))
	if number < 1 || number > len(saved.Judgement.Variants) {
		return page{}, refuse(http.StatusNotFound, fmt.Errorf("this run has the variants 1 to %d", len(saved.Judgement.Variants)))
	}
	v := saved.Judgement.Variants[number-1]
	trial, why := saved.Record.Telling(v)
	measure := func(e history.Event) bool { return e.Kind == history.Measure }
	events := slices.DeleteFunc(history.Of(saved.Record.Events, v.Name, trial), measure)
	if len(events) == 0 {
		return page{}, refuse(http.StatusNotFound, fmt.Errorf("%q has no event in this run", v.Name))
	}
	at, _ := strconv.Atoi(r.FormValue("event"))
	at = min(max(at, 1), len(events))
	body := map[string]any{
		"Saved": saved, "Run": r.PathValue("run"), "When": when(r.PathValue("run"), time.Now()), "Number": number, "Trial": trial, "Why": why,
		"Now": events[at-1], "At": at, "All": len(events),
		"Drawing": markup(func(w io.Writer) error { return html.Replay(w, events, at, v.Violation) }),
	}
	if at == len(events) {
		body["Found"] = v.Violation // it is judged when all events are there
	}
	return page{Name: "replay", Title: v.Name, Body: body}, nil
}
