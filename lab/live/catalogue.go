package live

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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

// group is a part of the list of experiments.
type group struct {
	Title string
	Cards []entry
}

// Shown is how many cards of the group the filter keeps.
func (u group) Shown() (n int) {
	for _, c := range u.Cards {
		if !c.Hidden {
			n++
		}
	}
	return n
}

// entry is an experiment in the list.
type entry struct {
	lab.Experiment
	Hidden bool          // by the filter
	Newest template.HTML // the verdict of its newest saved run; empty: there is none, or it must not be told yet
}

// experiments lists all experiments. Those that the filter does not keep are hidden, so that the script of the page can show them.
func (s *Server) experiments(r *http.Request) (page, error) {
	f := lab.Filter{
		Text: r.FormValue("text"), Article: r.FormValue("article"), Level: r.FormValue("level"), Anomaly: r.FormValue("anomaly"),
		Quick: r.FormValue("quick") != "",
	}
	kept := make(map[string]bool)
	for _, e := range f.Of(s.cfg.Catalogue) {
		kept[e.ID] = true
	}
	var subjects []group
	for _, e := range s.cfg.Catalogue {
		if title := s.cfg.subjectOf(e); len(subjects) == 0 || subjects[len(subjects)-1].Title != title {
			subjects = append(subjects, group{Title: title})
		}
		cards := &subjects[len(subjects)-1].Cards
		*cards = append(*cards, entry{e, !kept[e.ID], s.newestVerdict(r, e)})
	}
	return page{Name: "experiments", Title: "Experiments", Body: map[string]any{
		"Filter": f, "Subjects": subjects, "Shown": len(kept), "All": len(s.cfg.Catalogue), "Articles": articles,
		"Levels": lab.Levels, "Anomalies": s.cfg.Catalogue.Anomalies(),
	}}, nil
}

// subjectOf is the title above the experiments of a group.
func (c Config) subjectOf(e lab.Experiment) string {
	_, title, grouped := strings.Cut(c.Subject(e.ID), " · ")
	if !grouped {
		return "Others"
	}
	return strings.ToUpper(title[:1]) + title[1:]
}

// takes is a duration as people read it: 1 min 45 s.
func takes(d time.Duration) string {
	return strings.TrimSuffix(strings.NewReplacer("m", " min ", "s", " s").Replace(d.String()), " 0 s")
}

var oneSentence = regexp.MustCompile(`[^.?!]+(?:[.?!][^\s]+[^.?!]*)*[.?!]`)

// firstQuestion returns the first sentence of a text that is a question, or the whole text.
func firstQuestion(text string) string {
	for _, one := range oneSentence.FindAllString(text, -1) {
		if strings.HasSuffix(one, "?") {
			return strings.TrimSpace(one)
		}
	}
	return text
}

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
	return s.ask(e.ID, s.viewerOf(r)).keeps()
}

// listedRun is a run that can be opened.
type listedRun struct {
	Name    string // of its folder
	When    string // it was saved
	Telling int    // number of the variant that is replayed first: one with a violation, if there is one
	Verdict template.HTML
}

// listedRuns are the newest saved runs of an experiment.
func (s *Server) listedRuns(e lab.Experiment) (all []listedRun) {
	names := lab.History(s.cfg.Store, e.ID)
	for _, name := range names[:min(mostRuns, len(names))] {
		saved := s.cfg.Catalogue.Judged(filepath.Join(s.cfg.Store, e.ID, name))
		telling := slices.IndexFunc(saved.Judgement.Variants, func(v lab.VariantJudgement) bool { return v.Violation != nil })
		all = append(all, listedRun{name, when(name, time.Now()), max(telling, 0) + 1, shown(outcome.Whole(saved.Judgement.Verdict))})
	}
	return all
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

//go:embed static/experiments.js
var experimentsScript string
