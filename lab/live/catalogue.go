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

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/report/html"
	"locklab/lab/report/outcome"
)

// articles are the five that the lab reproduces.
var articles = []struct{ ID, About string }{
	{"A0", "Korean: a limit of calls"},
	{"A1", "Korean: Redisson"},
	{"A2", "Japanese: drivers grab an order"},
	{"A3", "Chinese: Redis as lock and cache"},
	{"A4", "Russian: page views"},
}

func (s *Server) experiments(r *http.Request) (page, error) {
	f := lab.Filter{
		Article: r.FormValue("article"), Level: r.FormValue("level"), Anomaly: r.FormValue("anomaly"), Quick: r.FormValue("quick") != "",
	}
	return page{Name: "experiments", Title: "Experiments", Body: map[string]any{
		"Filter": f, "Experiments": f.Of(s.cfg.Catalogue), "All": len(s.cfg.Catalogue), "Articles": articles,
		"Levels": lab.Levels, "Anomalies": s.cfg.Catalogue.Anomalies(),
	}}, nil
}

// listedRun is a run that can be opened.
type listedRun struct {
	Name    string
	Telling int // number of the variant that is replayed first: one with a violation, if there is one
	Verdict template.HTML
}

// listedRuns are the newest saved runs of an experiment.
func (s *Server) listedRuns(e lab.Experiment) (all []listedRun) {
	names := lab.History(s.cfg.Store, e.ID)
	for _, name := range names[:min(mostRuns, len(names))] {
		saved := s.cfg.Catalogue.Judged(filepath.Join(s.cfg.Store, e.ID, name))
		telling := slices.IndexFunc(saved.Judgement.Variants, func(v lab.VariantJudgement) bool { return v.Violation != nil })
		all = append(all, listedRun{name, max(telling, 0) + 1, shown(outcome.Whole(saved.Judgement.Verdict))})
	}
	return all
}

// mostRuns bounds the saved runs that the page of an experiment lists.
const mostRuns = 10

// savedRun is the run that a request names.
func (s *Server) savedRun(r *http.Request) (saved lab.Saved, err error) {
	e, err := s.experimentOf(r)
	if err != nil {
		return saved, err
	}
	if s.ask(e.ID, s.viewerOf(r)).keeps() {
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
		_ = html.Run(w, saved)
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
	found := v.Violation
	if at < len(events) {
		found = nil // the violation is judged when all events are there
	}
	return page{Name: "replay", Title: v.Name, Body: map[string]any{
		"Saved": saved, "Run": r.PathValue("run"), "Number": number, "Trial": trial, "Why": why, "Now": events[at-1], "At": at,
		"All": len(events), "Drawing": markup(func(w io.Writer) error { return html.Drawing(w, events[:at], found) }), "Found": found,
	}}, nil
}
