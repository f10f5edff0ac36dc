package live

import (
	"errors"
	"fmt"
	"net/http"
	"os"

	"locklab/internal/sentence"
)

// role is what a browser may do. Each role may do what the ones before it may.
type role int

const (
	visitor     role = iota // looks on
	participant             // has a name, and guesses
	trainer                 // runs, resets, and breaks servers
)

// route is a page, or something that a browser asks for, and the least role that may.
type route struct {
	pattern string
	least   role
	answer  answer
}

// answer answers a request. After an error the browser gets a page that says it.
type answer func(s *Server, w http.ResponseWriter, r *http.Request) error

// routes are all of them.
var routes = []route{
	{"GET /ui/story", visitor, shows((*Server).storyPage)},
	{"GET /ui/story/{scene}", visitor, shows((*Server).scenePage)},
	{"GET /ui/burst", visitor, shows((*Server).burstPage)},
	{"POST /ui/burst", trainer, (*Server).askBurst},
	{"POST /ui/burst/replay", trainer, (*Server).replayBurst},
	{"POST /ui/quiz/{name}/guess", participant, asks((*quiz).guess)},
	{"POST /ui/quiz/{name}/run", trainer, asks((*quiz).run)},
	{"POST /ui/quiz/{name}/stop", trainer, asks((*quiz).stop)},
	{"POST /ui/quiz/{name}/answer", participant, asks((*quiz).answer)},
	{"POST /ui/quiz/{name}/show", trainer, asks((*quiz).showAnswers)},
	{"POST /ui/quiz/{name}/again", trainer, asks((*quiz).again)},
	{"GET /ui/experiments", visitor, shows((*Server).experiments)},
	{"GET /ui/experiments/{id}", visitor, shows((*Server).experimentPage)},
	{"GET /ui/experiments/{id}/runs/{run}", visitor, (*Server).report},
	{"GET /ui/experiments/{id}/runs/{run}/{variant}", visitor, shows((*Server).replay)},
	{"GET /ui/steps", visitor, shows((*Server).plays)},
	{"GET /ui/steps/{id}/{lock}", visitor, shows((*Server).playPage)},
	{"POST /ui/steps/{id}/{lock}", trainer, does("/ui/steps/${id}/${lock}", (*Server).press)},
	{"GET /ui/servers", visitor, shows((*Server).serversPage)},
	{"POST /ui/servers/start", trainer, does("/ui/servers", (*Server).startService)},
	{"POST /ui/servers/load", trainer, does("/ui/servers", (*Server).startLoad)},
	{"POST /ui/servers/stop", trainer, does("/ui/servers", (*Server).stopLoad)},
	{"POST /ui/servers/{name}/{fault}", trainer, (*Server).breakServer},
	{"GET /ui/locks", visitor, shows((*Server).locksPage)},
	{"GET /ui/locks/{lock}", visitor, (*Server).lockReport},
	{"GET /ui/join", visitor, shows((*Server).joinPage)},
	{"POST /ui/join", visitor, (*Server).joinClass},
	{"GET /ui/class", visitor, shows((*Server).classPage)},
	{"POST /ui/class/remove", trainer, does("/ui/class", (*Server).removePerson)},
	{"POST /ui/class/reset", trainer, does("/ui/class", (*Server).resetClass)},
	{"GET /ui/trainer", visitor, shows((*Server).trainerPage)},
	{"POST /ui/trainer", visitor, (*Server).becomeTrainer},
	{"GET /ui/events", visitor, (*Server).events},
	{"GET /ui/static/experiments.js", visitor, text("text/javascript", experimentsScript)},
	{"GET /ui/", visitor, nothing},
	{"GET /ui/static/style.css", visitor, text("text/css", styleOfPages())},
	{"GET /ui/static/script.js", visitor, text("text/javascript", scriptOfPages())},
}

// shows answers with a page.
func shows(of func(*Server, *http.Request) (page, error)) answer {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		p, err := of(s, r)
		if err == nil {
			s.show(w, r, http.StatusOK, p)
		}
		return err
	}
}

// does answers a form: it does something, and leads the browser to a page again.
func does(to string, something func(*Server, *http.Request) error) answer {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		if err := something(s, r); err != nil {
			return err
		}
		page := os.Expand(to, r.PathValue)
		redirect(w, r, page, "The page "+s.origin(r.Host)+page+" shows what comes of it.")
		return nil
	}
}

// redirect leads a browser to a page again. The script of the page asks for no page: it gets what has changed as an event. A program, such
// as curl, gets a sentence.
func redirect(w http.ResponseWriter, r *http.Request, to, says string) {
	switch {
	case r.Header.Get("Accept") == "text/event-stream":
		w.WriteHeader(http.StatusNoContent)
	case isProgram(r):
		plain(w, http.StatusOK, says)
	default:
		http.Redirect(w, r, to, http.StatusSeeOther)
	}
}

// wantsPage reports whether an answer is read by a person: not by the script of a page, and by no program.
func wantsPage(r *http.Request) bool {
	return r.Header.Get("Accept") != "text/event-stream" && !isProgram(r)
}

// isProgram reports whether the request is of a program that takes everything, as curl does. A browser asks for HTML.
func isProgram(r *http.Request) bool { return r.Header.Get("Accept") == "*/*" }

func plain(w http.ResponseWriter, status int, says string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, says)
}

// link leads to a page.
type link struct{ To, Text string }

// navigation is on each page.
var navigation = []link{
	{"/ui/story/1", "The story"},
	{"/ui/burst", "Burst"},
	{"/ui/steps", "Step by step"},
	{"/ui/servers", "Servers"},
	{"/ui/experiments", "Experiments"},
	{"/ui/locks", "Locks"},
}

// Handler answers the requests of browsers.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler("/ui/", http.StatusSeeOther))
	mux.Handle("GET /ui/{$}", http.RedirectHandler("/ui/story/1", http.StatusSeeOther))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { // as an instance has it, for the container's health check
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"instance": "page"}`))
	})
	for _, of := range routes {
		mux.HandleFunc(of.pattern, func(w http.ResponseWriter, r *http.Request) {
			err := refuse(http.StatusForbidden, missing[of.least])
			if s.viewerOf(r).Role >= of.least {
				err = of.answer(s, w, r)
			}
			if err != nil {
				s.problem(w, r, err)
			}
		})
	}
	return s.guard(s.explain(mux))
}

// explain answers what mux would refuse with two words: an address without a page, or a method that it does not take.
func (s *Server) explain(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refused, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		refused.ServeHTTP(headerOnly{w}, r)
		err := refuse(http.StatusNotFound, fmt.Errorf("there is no page %s: pages are under /ui/, and the page Burst has the addresses of "+
			"the instances", r.URL.Path))
		if allowed := w.Header().Get("Allow"); allowed != "" {
			err = refuse(http.StatusMethodNotAllowed, fmt.Errorf("%s takes %s, not %s", r.URL.Path, allowed, r.Method))
		}
		s.problem(w, r, err)
	})
}

// headerOnly keeps the header of an answer, and drops the rest.
type headerOnly struct{ http.ResponseWriter }

func (headerOnly) WriteHeader(int)                {}
func (headerOnly) Write(text []byte) (int, error) { return len(text), nil }

// problem answers with an error: a page, or a sentence for a program.
func (s *Server) problem(w http.ResponseWriter, r *http.Request, err error) {
	if !wantsPage(r) {
		plain(w, statusOf(err), sentence.Of(err))
		return
	}
	s.show(w, r, statusOf(err), page{Name: "problem", Title: http.StatusText(statusOf(err)), Body: sentence.Of(err)})
}

// missing say what to do when a role is missing.
var missing = map[role]error{
	participant: errors.New("only a participant may do that; join the class with a name first"),
	trainer:     errors.New("only the trainer may do that"),
}

func text(kind, body string) answer {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		_, _ = w.Write([]byte(body))
		return nil
	}
}
