package web

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"rsc.io/qr"

	"locklab/experiments/class"
	"locklab/experiments/story"
)

// Class lets participants guess, and lets only the trainer run.
type Class struct {
	Token   string // makes a browser the trainer's
	Address string // host:port where participants reach the page
}

// viewer is a browser that looks at a page.
type viewer struct {
	ID   string // of a participant; empty: it has no name, or there is no class
	Name string
	Role role
}

// Trains reports whether it is the trainer's.
func (v viewer) Trains() bool { return v.Role == trainer }

// classroom has the participants, and the browsers of the trainer.
type classroom struct {
	Class
	*class.People

	mu       sync.Mutex
	trainers map[string]bool // by the value of the cookie
}

// asked is a question as a browser shows it.
type asked struct {
	class.State
	MayGuess bool
	MayRun   bool // apart from a guess
	Class    bool
	People   int // participants
}

// tells reports whether a result would tell the answer: the viewer is a participant, and guesses are still taken.
func (a asked) tells() bool { return a.Class && a.Open && !a.MayRun }

// ask is the present state of a question for a viewer.
func (s *Server) ask(name string, v viewer) asked {
	a := asked{State: s.questions.Of(name, v.ID), MayGuess: s.class == nil || v.ID != ""}
	if s.class != nil {
		a.Class, a.MayRun, a.People = true, v.Trains(), s.class.Size()
	}
	return a
}

// guess records a guess, unless the run has begun. The error says what to do.
func (s *Server) guess(name string, v viewer, guess string) error {
	if s.class != nil {
		if err := s.class.MayGuess(v.ID); err != nil {
			return err
		}
	}
	s.questions.Guess(name, v.ID, guess)
	return nil
}

// answered notes what the run of a question showed, and scores the guesses.
func (s *Server) answered(name, showed string, good func(guess string) bool) {
	scores := s.questions.Answered(name, showed, good)
	if s.class != nil {
		s.class.Score(name, scores)
		s.showClass()
	}
}

// The cookies of a class.
const (
	personCookie  = "locklab_participant"
	trainerCookie = "locklab_trainer"
)

func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// remember gives a browser a cookie with a new secret, and returns the secret.
func remember(w http.ResponseWriter, name string) string {
	secret := rand.Text()
	http.SetCookie(w, &http.Cookie{Name: name, Value: secret, Path: "/ui/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	return secret
}

// viewerOf is the browser that asks. Without a class everybody is the trainer.
func (s *Server) viewerOf(r *http.Request) (v viewer) {
	if s.class == nil {
		return viewer{Role: trainer}
	}
	if id := cookie(r, personCookie); s.class.Name(id) != "" {
		v = viewer{ID: id, Name: s.class.Name(id), Role: participant}
	}
	s.class.mu.Lock()
	defer s.class.mu.Unlock()
	if s.class.trainers[cookie(r, trainerCookie)] {
		v.Role = trainer
	}
	return v
}

// showClass shows the participants and their points in each browser.
func (s *Server) showClass() {
	s.board.putEach("class", func(v viewer) string {
		return s.fragment("board", map[string]any{"Places": s.class.Places(v.ID), "Viewer": v})
	})
}

// lead says where the trainer is, so that participants can follow.
func (s *Server) lead(r *http.Request, title string) {
	if s.class == nil || !s.viewerOf(r).Trains() {
		return
	}
	s.board.put("now", s.fragment("now", link{r.URL.Path, title}))
}

var errNoClass = refuse(http.StatusNotFound, errors.New("there is no class; start the page with --class"))

// classPage shows the address, the participants and their points.
func (s *Server) classPage(*http.Request) (page, error) {
	if s.class == nil {
		return page{}, errNoClass
	}
	address := "http://" + s.class.Address + "/ui/join"
	code, err := qr.Encode(address, qr.M)
	if err != nil {
		return page{}, fmt.Errorf("the address cannot be drawn: %w", err)
	}
	return page{Name: "class", Title: "The class", Parts: []string{"class"}, Body: map[string]any{
		"Address": address, "Local": isLoopback(s.class.Address), "Size": code.Size + 8, "Modules": modules(code),
	}}, nil
}

// modules are the dark squares of a QR code, as the path of an SVG, with the quiet zone of four around them.
func modules(code *qr.Code) string {
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+4, y+4)
			}
		}
	}
	return path.String()
}

func (s *Server) joinPage(*http.Request) (page, error) {
	return page{Name: "join", Title: "Join the class"}, nil
}

// joinClass gives a browser a name.
func (s *Server) joinClass(w http.ResponseWriter, r *http.Request) error {
	if s.class == nil || s.viewerOf(r).ID != "" {
		http.Redirect(w, r, "/ui/", http.StatusSeeOther)
		return nil
	}
	if err := s.class.Join(r.FormValue("name"), remember(w, personCookie)); errors.Is(err, class.ErrOften) {
		return err
	} else if err != nil {
		return refuse(http.StatusBadRequest, err)
	}
	s.showAll() // how many can guess
	http.Redirect(w, r, "/ui/class", http.StatusSeeOther)
	return nil
}

// resetClass removes every participant and guess, and asks every question anew. The bursts of the session stay.
func (s *Server) resetClass(*http.Request) error {
	if s.class == nil {
		return errNoClass
	}
	s.class.Reset()
	s.questions.ReopenAll()
	for i := range story.Scenes {
		if !s.ask(scenePart(i), viewer{}).Runs {
			s.setScene(i, told{})
		}
	}
	for _, e := range s.cfg.Catalogue {
		if !s.ask(runPart(e), viewer{}).Runs {
			s.setTried(e, tried{})
			s.board.put(runPart(e), "")
		}
	}
	s.showAll()
	return nil
}

func (s *Server) trainerPage(*http.Request) (page, error) {
	return page{Name: "trainer", Title: "For the trainer"}, nil
}

var errToken = refuse(http.StatusForbidden, errors.New("that is not the token; the program printed it when it started"))

// becomeTrainer makes a browser the trainer's when it knows the token.
func (s *Server) becomeTrainer(w http.ResponseWriter, r *http.Request) error {
	if s.class == nil {
		http.Redirect(w, r, "/ui/", http.StatusSeeOther)
		return nil
	}
	if subtle.ConstantTimeCompare([]byte(r.FormValue("token")), []byte(s.class.Token)) != 1 {
		return errToken
	}
	secret := remember(w, trainerCookie)
	s.class.mu.Lock()
	s.class.trainers[secret] = true
	s.class.mu.Unlock()
	http.Redirect(w, r, "/ui/class", http.StatusSeeOther)
	return nil
}
