package live

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"

	"locklab/lab/burst"
	"locklab/lab/report/html"
	"locklab/lab/watch"
)

const (
	lookEvery    = 400 * time.Millisecond // at the servers, while a browser looks on
	faultWithin  = 20 * time.Second       // until a fault, or its end, is proven
	faultsOnPage = 10
)

// Errors of a fault, apart from those of package servers.
var (
	errNotStarted = refuse(http.StatusConflict, errors.New("the instances do not run yet; start them first"))
	errEnds       = errors.New("the page ends; start the program again")
)

// watched are the servers of the instances. One goroutine asks and breaks them, so a server that starts again is not asked meanwhile.
type watched struct {
	tasks chan func(context.Context) // for that goroutine
	ended <-chan struct{}            // closed when it takes no more

	changes atomic.Pointer[[]watch.Change] // all of them

	// Of that goroutine:
	servers *watch.Servers // nil: the instances do not run
	shown   serversView
	buttons []any // what the part with the buttons depends on
}

// serversView is what the page shows of the servers.
type serversView struct {
	*watch.Picture        // nil: the instances do not run
	Doing          string // the fault that is under way
	Faults         []watch.Fault
}

// watch asks the servers, and does faults, until ctx ends.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case task := <-s.watched.tasks:
			task(ctx)
		case <-tick.C:
			// A plot needs the time of each change, also while nobody looks. A look would disturb what a burst measures.
			if s.sending.Load() || s.board.isWatched("servers") && !s.measures() {
				s.look(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

// measures reports whether a burst waits or runs.
func (s *Server) measures() bool { return s.isBusy(runPart(burstName)) }

// onWatch lets the goroutine of watch do something, and waits for that, until ctx ends.
func (s *Server) onWatch(ctx context.Context, do func(context.Context) error) error {
	done := make(chan error, 1)
	select {
	case s.watched.tasks <- func(ctx context.Context) { done <- do(ctx) }:
	case <-s.watched.ended:
		return errEnds
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// look asks every server, if the instances run, and shows what has changed.
func (s *Server) look(ctx context.Context) {
	w := &s.watched
	if running := s.instances.Load(); running != nil && s.seesServers() && w.servers == nil {
		w.servers = watch.Of(*running)
	}
	var v serversView
	if w.servers != nil {
		p := w.servers.Look(ctx)
		v.Picture, v.Faults = &p, w.servers.Newest(faultsOnPage)
		changes := w.servers.Changes(time.Time{})
		w.changes.Store(&changes)
	}
	s.showServers(v)
}

// Drawing draws the servers.
func (v serversView) Drawing() template.HTML {
	return markup(func(w io.Writer) error { return html.Servers(w, v.Picture) })
}

// showServers shows the picture, and the buttons below it, which are replaced only when one of them changes: a press must not miss.
func (s *Server) showServers(v serversView) {
	s.watched.shown = v
	s.board.put("servers", s.fragment("picture", v))
	buttons := []any{v.Picture == nil, v.Doing, v.Faults}
	for _, t := range v.Tiers() {
		for _, b := range t.Boxes {
			buttons = append(buttons, b.Name, b.State, b.Does)
		}
	}
	if reflect.DeepEqual(buttons, s.watched.buttons) {
		return
	}
	s.watched.buttons = buttons
	s.board.putEach("faults", func(viewing viewer) string {
		return s.fragment("faults", map[string]any{
			"View": v, "Trainer": viewing.Trains(), "Class": s.class != nil, "Post": s.curl(viewing.Origin, "''") + "/ui/servers",
		})
	})
}

// serversPage shows the servers and a load.
func (s *Server) serversPage(r *http.Request) (page, error) {
	now, cancel := context.WithTimeout(r.Context(), lookEvery) // a fault may be under way
	defer cancel()
	_ = s.onWatch(now, func(ctx context.Context) error { s.look(ctx); return nil })
	s.lead(r, "the servers")
	parts := []string{"servers", "faults", "instances", "load", "load-line"}
	return page{Name: "servers", Title: "Servers", Parts: parts, Body: map[string]any{
		"Able": s.seesServers(), "Trainer": s.viewerOf(r).Trains(), "Versions": watch.Loads(),
		"Version": loadVersion, "Clients": loadClients, "Rate": loadRate, "MostRate": burst.MostRate,
		"MostClients": burst.MostClients, "LongestLoad": burst.LongestLoad,
		"MostAnswers": burst.MostAnswers,
	}}, nil
}

// seesServers reports whether the instances, and what they need, are processes of this program.
func (s *Server) seesServers() bool { return s.cfg.Service != nil && !s.cfg.Remote }

// service returns the instances that bursts go to. The first call starts them, and one that has failed is repeated by the next call. Only
// runs call it, so it starts them once.
func (s *Server) service(ctx context.Context, tell func(what string)) (burst.Running, error) {
	if ctx.Err() != nil { // it was stopped before it began
		return burst.Running{}, context.Cause(ctx)
	}
	if running := s.instances.Load(); running != nil {
		return *running, nil
	}
	running, err := s.cfg.Service(ctx, tell)
	if err == nil {
		s.instances.Store(&running)
	}
	return running, err
}

// startService starts the instances, unless they run.
func (s *Server) startService(*http.Request) error {
	if !s.seesServers() {
		return errNoInstances
	}
	return s.start(job{"instances", func(ctx context.Context) func() {
		_, err := s.service(ctx, func(what string) { s.board.put("instances", s.fragment("starting", what)) })
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return func() { s.board.put("instances", s.fragment("started", err)) }
	}})
}

// breakServer does a fault, or ends one.
func (s *Server) breakServer(w http.ResponseWriter, r *http.Request) error {
	name, what := r.PathValue("name"), r.PathValue("fault")
	var done watch.Fault
	err := s.onWatch(r.Context(), func(ctx context.Context) (err error) {
		if s.look(ctx); s.watched.servers == nil {
			return errNotStarted
		}
		doing := s.watched.shown
		doing.Doing = what + " " + name
		s.showServers(doing)
		defer s.look(ctx)
		bounded, cancel := context.WithTimeout(ctx, faultWithin)
		defer cancel()
		done, err = s.watched.servers.Do(bounded, name, what)
		return err
	})
	if err == nil {
		redirect(w, r, "/ui/servers", fmt.Sprintf("%s %s: %s.", what, name, done.Proof))
	}
	return err
}

// curl begins a line that sends a form to this page from a terminal. The trainer of a class has the token in LAB_TRAINER_TOKEN.
func (s *Server) curl(origin, form string) string {
	token := ""
	if s.class != nil {
		token = `-H "Authorization: Bearer $LAB_TRAINER_TOKEN" `
	}
	return fmt.Sprintf("curl %s-d %s %s", token, form, origin)
}
