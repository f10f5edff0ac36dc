// Package live is the live page. It has the story of a lock in seven scenes, bursts, locks that a person plays, servers to break, and every
// experiment with its lesson. A run is drawn while it goes on, and each browser that looks on sees the same.
//
// The page is made on the server. Its script only replaces parts that have changed, which arrive as server-sent events. Without the script
// a reload shows the present state.
//
// With a class, participants guess, and only the trainer runs. routes.go has what each role may. Without one, everybody who reaches the
// page may do everything, so it accepts requests for this machine only (guard.go).
//
// NOT guaranteed: secrecy. The page speaks HTTP, so a network that somebody listens to shows the trainer's token.
package live

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lab/live/bench"
	"locklab/lab/live/class"
	"locklab/lab/live/stage"
	"locklab/lab/live/steps"
	"locklab/lab/live/story"
	"locklab/lab/report/html"
)

// Config is what a live page needs.
type Config struct {
	Catalogue lab.Catalogue
	Subject   func(id string) string // of an experiment: a letter and a title, such as "P · page views"; empty: it has none
	Options   lab.Options            // of each run; the page sets Trials, Seed, Command, Store and Tell
	Class     *Class                 // nil: everybody who reaches the page is its trainer
	Address   string                 // origin at which browsers reach the page, such as https://lab.example; empty: no class, and no proxy
	Store     string                 // folder of the saved runs
	Static    bool                   // the pages become files: what needs this program is left out, and scenes show recorded runs
	Program   string                 // how the user starts this program, for commands that the page shows
	// Service starts the instances that bursts go to, with their servers, and returns them. The page asks once, or again after an error.
	// The caller ends them after [Server.Wait]. tell says what it does.
	Service  func(ctx context.Context, tell func(what string)) (burst.Running, error)
	Versions []string // that bursts can have; empty: the instances say it at the first run
	// Remote: another program has started those instances, so their servers are not seen.
	Remote bool
	// Command reproduces a run.
	Command func(e lab.Experiment, o lab.Options) string
	// StepCommand plays moves of a lock.
	StepCommand func(id, lock, clients string, moves []explore.Move) string
}

// Server serves the live page below /ui/.
type Server struct {
	cfg   Config
	id    string // of this server; the next one after a restart has another
	board *board

	ctx     context.Context // of every run
	running sync.WaitGroup

	crossOrigin *http.CrossOriginProtection

	class     *classroom // nil: there is none
	questions *class.Questions
	bench     *bench.Bench // the servers, and the load

	quizzes map[string]*quiz // by name; what changes in them needs mu
	bursts  *bursts          // of the quiz about bursts

	mu     sync.Mutex
	busy   map[string]*underway // that wait or run, by the part that shows it
	newest <-chan struct{}      // closed when the newest job is over, and with it all
	ledTo  string               // path of the page that the trainer has opened; empty: none

	games *steps.Games
}

// New returns a server. Its runs end with ctx.
func New(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{
		cfg: cfg, id: rand.Text(), board: newBoard(), ctx: ctx, crossOrigin: http.NewCrossOriginProtection(),
		questions: class.NewQuestions(), busy: make(map[string]*underway), quizzes: make(map[string]*quiz),
	}
	none := make(chan struct{})
	close(none)
	s.newest = none
	s.bench = bench.New(ctx.Done(), cfg.Service, !cfg.Remote, s.showServers)
	if cfg.Address != "" {
		if err := s.crossOrigin.AddTrustedOrigin(cfg.Address); err != nil {
			return nil, err
		}
	}
	if cfg.Class != nil {
		room, err := openClassroom(cfg)
		if err != nil {
			return nil, err
		}
		s.class, s.questions = room, room.Questions
	}
	for i, of := range story.Scenes {
		e, err := of.In(cfg.Catalogue)
		if err != nil {
			return nil, fmt.Errorf("scene %d: %w", i+1, err)
		}
		q := s.addQuiz(sceneName(i), scene{of, e, i})
		q.subject.draw(q)
	}
	s.addExperiments()
	s.addBurst()
	s.games = &steps.Games{
		Changed: s.showGame,
		Closed:  func(l steps.Lock) { s.board.put(l.Key(), s.fragment("closed", l)) },
	}
	s.register()
	s.board.put("load", s.fragment("no-load", loadView{new(bench.Load)}))
	s.running.Go(func() { s.bench.Watch(ctx, s.watchesServers) })
	return s, nil
}

// register makes the other parts, which have no text until something runs.
func (s *Server) register() {
	names := append([]string{"class", "class-all", "member", "people", "name", "now"}, serverParts...)
	for _, e := range s.cfg.Catalogue {
		for _, l := range locksOf(e) {
			names = append(names, l.Key())
		}
	}
	for _, name := range names {
		s.board.put(name, "")
	}
	s.showAll()
}

// showAll shows each viewer the present state of everything, because there are more participants, or others.
func (s *Server) showAll() {
	if s.class != nil {
		s.showClass()
	}
	for name := range s.quizzes {
		s.board.again(name)
	}
}

// Participants is how many a class has; a class may be one that an earlier program has kept.
func (s *Server) Participants() int {
	if s.class == nil {
		return 0
	}
	return s.class.Size()
}

// Wait returns when ctx has ended, and what runs and plays have started is removed.
func (s *Server) Wait() {
	s.running.Wait()
	s.games.Close()
}

//go:embed pages/*.tmpl
var pageFiles embed.FS

//go:embed static/style/*.css
var styleFiles embed.FS

// styleOfPages is what reports have, what all pages share, and then what each has.
func styleOfPages() string {
	var all strings.Builder
	all.WriteString(html.Style())
	for _, name := range []string{"base", "quiz", "story", "burst", "steps", "servers", "experiments", "class"} {
		text, err := styleFiles.ReadFile("static/style/" + name + ".css")
		if err != nil {
			panic(err) // it is a part of this program
		}
		all.Write(text)
	}
	return all.String() + stage.Style()
}

//go:embed static/script.js
var script string

func scriptOfPages() string { return script + stage.Script() + html.Script() }

var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"add":        add,
		"paragraphs": lab.Paragraphs,
		"drawing":    func(events []history.Event) template.HTML { return drawing(events, nil) },
		"within":     func(path, page string) bool { return strings.HasPrefix(path, strings.TrimSuffix(page, "/1")) },
		"upper":      strings.ToUpper,
		"asks":       firstQuestion,
		"number":     lab.Number,
		"takes":      takes,
		"letter":     letter,
		"ordinal":    ordinal,
	}).ParseFS(pageFiles, "pages/*.tmpl"))
})

// letter is that of a choice, from a.
func letter(i int) string { return string(rune('a' + i)) }

func add(all ...int) (sum int) {
	for _, n := range all {
		sum += n
	}
	return sum
}

// page is what the frame of each page needs.
type page struct {
	Name   string // of its template
	Title  string
	Parts  []string                 // that change while somebody looks on
	Texts  map[string]template.HTML // of the parts
	Body   any
	Pages  []link
	At     string // the path of this page
	Server string // its id
	Signs  template.HTML
	Static bool // see [Config]
	Class  bool
	Room   *classroom // for the trainer's screen; nil: it is another's
	Led    bool       // the trainer is at this page
	Viewer viewer
}

// show writes a page.
func (s *Server) show(w http.ResponseWriter, r *http.Request, status int, p page) {
	if p.At == "" {
		p.At = r.URL.Path
	}
	text, err := s.html(p, s.viewerOf(r))
	if err != nil {
		http.Error(w, "The page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store") // a page of an earlier start would load itself again and again
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// html is a page as a viewer sees it.
func (s *Server) html(p page, v viewer) ([]byte, error) {
	p.Pages, p.Signs, p.Viewer, p.Class, p.Server, p.Static = navigation, markup(html.Signs), v, s.class != nil, s.id, s.cfg.Static
	if p.Static {
		p.Pages, p.Parts, p.Server = siteTabs(), nil, "" // nothing changes, so each build writes the same page
	}
	if p.Class {
		p.Pages = append(slices.Clone(navigation), link{"/ui/class", "The class"})
		if p.Parts = append(p.Parts, "name"); p.Viewer.Trains() {
			p.Room, p.Parts = s.class, append(p.Parts, "people")
		} else {
			p.Parts = append(p.Parts, "now") // where the trainer is
			s.mu.Lock()
			p.Led = s.ledTo == p.At
			s.mu.Unlock()
		}
	}
	if p.Texts == nil {
		p.Texts = make(map[string]template.HTML)
	}
	for _, name := range p.Parts {
		if _, made := p.Texts[name]; !made {
			p.Texts[name] = template.HTML(s.board.get(name, p.Viewer))
		}
	}
	var text bytes.Buffer
	err := pages().ExecuteTemplate(&text, p.Name, p)
	return text.Bytes(), err
}

// fragment is a part of a page.
func (s *Server) fragment(name string, data any) string {
	var text bytes.Buffer
	if err := pages().ExecuteTemplate(&text, name, data); err != nil {
		return template.HTMLEscapeString(fmt.Sprintf("The part %s could not be made: %v", name, err))
	}
	return text.String()
}
