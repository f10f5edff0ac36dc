package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/report/html"
	"locklab/lab/report/outcome"
	"locklab/lab/watch"
)

// A load when the trainer has not chosen another.
const loadVersion, loadClients, loadRate = "v3", 20, 200

const secondsShown = 60

// Errors of a load, apart from those of package burst.
var (
	errNoInstances = errors.New("this program did not start the instances; run app lab serve without --url to break servers or send a load")
	errLoad        = refuse(http.StatusConflict, errors.New("a load runs or waits already; stop it first"))
	errNoLoad      = refuse(http.StatusConflict, errors.New("no load runs; start one first"))
	errVersion     = refuse(http.StatusBadRequest, fmt.Errorf("choose one of these versions: %s", loadVersions()))
)

// loadView is a load as the page shows it, at some moment or at its end.
type loadView struct {
	*burst.Load
	burst.Rates
	changes []watch.Change // while it goes on
	seconds int            // in the plot
}

// loadVersions are the names of the versions that a load can go to.
func loadVersions() string {
	var all []string
	for _, v := range watch.Loads() {
		all = append(all, v.Name)
	}
	return strings.Join(all, ", ")
}

// Chart draws its answers, waits and losses, second by second.
func (v loadView) Chart() template.HTML {
	moments := make([]html.Moment, len(v.changes))
	for i, c := range v.changes {
		moments[i] = html.Moment{At: c.At.Sub(v.Began), Text: c.What}
	}
	return markup(func(w io.Writer) error { return html.Rates(w, v.Rates, v.seconds, moments) })
}

// startLoad queues a load, unless there is one: other runs wait until it has ended.
func (s *Server) startLoad(r *http.Request) error {
	version := r.FormValue("version")
	if _, known := watch.Load(version); !known {
		return errVersion
	}
	clients, _ := strconv.Atoi(r.FormValue("clients")) // NewLoad refuses 0, too
	rate, wrong := strconv.Atoi(cmp.Or(r.FormValue("rate"), "0"))
	if wrong != nil {
		rate = -1
	}
	l, err := burst.NewLoad(version, clients, rate)
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, fmt.Errorf("%w; the form has clients=%q, rate=%q", err, r.FormValue("clients"), r.FormValue("rate")))
	case !s.seesServers():
		return errNoInstances
	case !s.load.CompareAndSwap(nil, l):
		return errLoad
	}
	err = s.start(job{"load", func(ctx context.Context) func() {
		text := s.fragment("loaded", s.sustain(ctx, l))
		return func() {
			s.board.put("load", text)
			s.load.Store(nil)
		}
	}})
	if err != nil {
		s.load.Store(nil)
		return err
	}
	s.board.putEach("load-line", func(v viewer) string {
		if !v.Trains() {
			return ""
		}
		form := fmt.Sprintf("'version=%s&clients=%d&rate=%d'", version, clients, rate)
		return s.fragment("load-line", s.curl(v.Origin, form)+"/ui/servers/load")
	})
	return nil
}

// stopLoad stops the load, or the start of the instances.
func (s *Server) stopLoad(*http.Request) error {
	l := s.load.Load()
	switch {
	case l != nil && s.sending.Load():
		l.Stop() // it waits for its last answers
	case l != nil:
		s.stop("load")
	case s.isBusy("instances"):
		s.stop("instances")
	default:
		return errNoLoad
	}
	return nil
}

// sustain sends the page views of a load, shows meanwhile how many are answered, and returns what the load left.
func (s *Server) sustain(ctx context.Context, l *burst.Load) map[string]any {
	var running burst.Running
	var views burst.Views
	var err error
	var starting atomic.Pointer[string]
	s.follow(redraw, func(changed func()) {
		if running, err = s.service(ctx, func(what string) { starting.Store(&what); changed() }); err == nil {
			starting.Store(nil)
			changed()
			_ = s.onWatch(ctx, func(ctx context.Context) error { s.look(ctx); return nil }) // a change before the load is none of it
			s.sending.Store(true)
			views, err = l.Send(ctx, running.Target, func(burst.Event) { changed() })
			s.sending.Store(false)
		}
	}, func() {
		s.board.putMade("load", func() string {
			if says := starting.Load(); says != nil {
				return s.fragment("starting", *says)
			}
			return s.fragment("loading", loadView{l, l.Rates(secondsShown), s.changesOf(l), secondsShown})
		})
	})
	if err != nil && errors.Is(context.Cause(ctx), errStopped) {
		err = errStopped
	}
	all, unseen := s.wholeLoad(ctx, l)
	if err == nil {
		err = unseen
	}
	if err != nil {
		return map[string]any{"Err": sentence(err), "Load": all}
	}
	version, _ := watch.Load(views.Version)
	showed := views.OutcomeOf(len(running.Instances))
	verdict := lab.Judge(burst.Expect(version), showed)
	says := outcome.Views(version.Name, views.Counts(), verdict)
	return map[string]any{
		"Load": all, "Changes": all.changes, "Views": views, "Counts": views.Counts(),
		"Title": version.Title, "Class": answerOf(says), "Says": says.Words, "Because": verdict.Because(showed),
	}
}

// wholeLoad is a load that has ended, from its first second; nil: it has not begun. Each server is asked again, because its role may have
// changed since. That goes on after a stop: without it nobody knows whether the load can be judged.
func (s *Server) wholeLoad(ctx context.Context, l *burst.Load) (*loadView, error) {
	all := &loadView{l, l.Rates(int((burst.LongestLoad + burst.LastAnswers).Seconds()) + 1), nil, secondsShown}
	if all.Began.IsZero() {
		return nil, nil
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*faultWithin) // a fault may be under way
	defer cancel()
	err := s.onWatch(bounded, func(ctx context.Context) error { s.look(ctx); return nil })
	all.changes, all.seconds = s.changesOf(l), max(secondsShown, len(all.Seconds))
	return all, err
}

// changesOf are those of the servers while a load goes on, as they were seen last. A load with one of them is not judged: the counter is
// in one of the servers.
func (s *Server) changesOf(l *burst.Load) (all []watch.Change) {
	if seen := s.watched.changes.Load(); seen != nil {
		began := l.Rates(0).Began
		if began.IsZero() {
			return nil
		}
		all = slices.DeleteFunc(slices.Clone(*seen), func(c watch.Change) bool { return c.At.Before(began) })
	}
	return all
}
