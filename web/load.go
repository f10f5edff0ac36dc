package web

import (
	"context"
	"errors"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/servers"
	"locklab/report/html"
)

// A load when the trainer has not chosen another.
const loadVersion, loadClients = "v3", 8

const secondsShown = 60

// Errors of a load, apart from those of package burst.
var (
	errNoInstances = errors.New("this program did not start the instances; run app lab serve without --url to break servers or send a load")
	errLoad        = refuse(http.StatusConflict, errors.New("a load runs or waits already; stop it first"))
	errNoLoad      = refuse(http.StatusConflict, errors.New("no load runs; start one first"))
	errVersion     = refuse(http.StatusBadRequest, errors.New("choose one of the versions of the list"))
)

// loadView is a load as the page shows it.
type loadView struct {
	*burst.Load
	burst.Rates
}

// Chart draws the answers of each second.
func (v loadView) Chart() template.HTML {
	return markup(func(w io.Writer) error { return html.Rates(w, v.Seconds, secondsShown) })
}

// startLoad queues a load, unless there is one: other runs wait until it has ended.
func (s *Server) startLoad(r *http.Request) error {
	version := r.FormValue("version")
	if _, known := servers.Load(version); !known {
		return errVersion
	}
	clients, _ := strconv.Atoi(r.FormValue("clients")) // NewLoad refuses 0, too
	l, err := burst.NewLoad(version, clients)
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, err)
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
	}
	return err
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
			s.sending.Store(true)
			views, err = l.Send(ctx, running.Target, func(burst.Event) { changed() })
			s.sending.Store(false)
		}
	}, func() {
		s.board.putMade("load", func() string {
			if says := starting.Load(); says != nil {
				return s.fragment("starting", *says)
			}
			return s.fragment("loading", loadView{l, l.Rates(secondsShown)})
		})
	})
	if err != nil && errors.Is(context.Cause(ctx), errStopped) {
		err = errStopped
	}
	if err != nil {
		return map[string]any{"Err": sentence(err)}
	}
	version, _ := servers.Load(views.Version)
	outcome := views.OutcomeOf(len(running.Instances))
	verdict := experiments.Judge(burst.Expect(version), outcome)
	return map[string]any{
		"Faults": s.faultsSince(ctx, views.Began), "Views": views, "Counts": views.Counts(),
		"Title": version.Title, "Verdict": verdict.String(), "Because": verdict.Because(outcome),
	}
}

// faultsSince are the faults that were done since a time. A load in which servers were broken is not judged: the counter is in one of them.
func (s *Server) faultsSince(ctx context.Context, began time.Time) (all []servers.Fault) {
	_ = s.onWatch(ctx, func(context.Context) error {
		if s.watched.servers != nil {
			all = s.watched.servers.Since(began)
		}
		return nil
	})
	return all
}
