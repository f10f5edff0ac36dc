package live

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strings"
	"sync"

	qr "github.com/piglig/go-qr"

	"locklab/lab/live/class"
)

// Class lets participants guess, and lets only the trainer run.
type Class struct {
	Token string // makes a browser the trainer's
}

// viewer is a browser that looks at a page.
type viewer struct {
	class.Person // without an ID it has no name, or there is no class
	Role         role
	Origin       string // at which it reaches the page
}

// Trains reports whether it is the trainer's.
func (v viewer) Trains() bool { return v.Role == trainer }

// classroom has the participants, and the browsers of the trainer.
type classroom struct {
	Class
	*class.People
	JoinURL string        // where one joins
	Code    template.HTML // QR code of it

	mu       sync.Mutex
	trainers map[string]bool // by the value of the cookie
}

func newClassroom(of Class, origin string) (*classroom, error) {
	c := &classroom{Class: of, JoinURL: origin + "/ui/join", People: class.NewPeople(), trainers: make(map[string]bool)}
	code, err := qr.EncodeText(c.JoinURL, qr.Medium)
	if err == nil {
		var svg bytes.Buffer
		err = code.WriteAsSVG(qr.NewQrCodeImgConfig(1, quietZone, qr.WithOptimalSVG()), &svg)
		c.Code = template.HTML(svg.String())
	}
	if err != nil {
		return nil, fmt.Errorf("the address %s cannot be drawn as a QR code: %w", c.JoinURL, err)
	}
	return c, nil
}

// quietZone is the white border that a QR code needs, in modules.
const quietZone = 4

// Typed is the address at which one joins, as short as one can type it.
func (c *classroom) Typed() string { return strings.TrimPrefix(c.JoinURL, "http://") }

// The cookies of a class. Browsers send those of a host to all of its ports, so their names have the port.
const (
	personCookie  = "locklab_participant_"
	trainerCookie = "locklab_trainer_"
)

func cookieName(r *http.Request, kind string) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return kind + port
}

func cookie(r *http.Request, kind string) string {
	c, err := r.Cookie(cookieName(r, kind))
	if err != nil {
		return ""
	}
	return c.Value
}

// remember gives a browser a cookie with a secret.
func remember(w http.ResponseWriter, r *http.Request, kind, secret string) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r, kind), Value: secret, Path: "/ui/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// viewerOf is the browser that asks. Without a class everybody is the trainer.
func (s *Server) viewerOf(r *http.Request) (v viewer) {
	v.Origin = s.origin(r.Host)
	if s.class == nil {
		v.Role = trainer
		return v
	}
	if person, is := s.class.Of(cookie(r, personCookie)); is {
		v.Person, v.Role = person, participant
	}
	token, given := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ") // of a program
	s.class.mu.Lock()
	defer s.class.mu.Unlock()
	if s.class.trainers[cookie(r, trainerCookie)] || given && s.class.knows(token) {
		v.Role = trainer
	}
	return v
}

// knows reports whether a token is that of the trainer.
func (c Class) knows(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(c.Token)) == 1
}

// showClass shows the participants and their points in each browser.
func (s *Server) showClass() {
	s.board.putEach("class", func(v viewer) string {
		return s.fragment("board", map[string]any{"Places": s.class.Places(v.ID), "Viewer": v})
	})
	s.showPeople()
	s.showName()
}

// showName says in each browser under which name it takes part.
func (s *Server) showName() {
	s.board.putEach("name", func(v viewer) string { return s.fragment("name", v) })
}

// showPeople shows how many participants there are, beside the code on the trainer's screen.
func (s *Server) showPeople() {
	s.board.putEach("people", func(viewer) string { return s.fragment("people", s.class) })
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
	return page{Name: "class", Title: "The class", Parts: []string{"class"}, Body: map[string]any{
		"Local": isLoopback(hostOf(s.cfg.Address)), "Room": s.class,
	}}, nil
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
	secret := rand.Text()
	if err := s.class.Join(r.FormValue("name"), r.FormValue("code"), secret); errors.Is(err, class.ErrOften) {
		return err
	} else if err != nil {
		return refuse(http.StatusBadRequest, err)
	}
	remember(w, r, personCookie, secret)
	s.showAll() // how many can guess
	http.Redirect(w, r, "/ui/class", http.StatusSeeOther)
	return nil
}

// resetClass removes every participant and guess, and asks every question anew. The bursts of the session stay.
func (s *Server) resetClass(*http.Request) error {
	if s.class == nil {
		return errNoClass
	}
	s.newClass()
	s.showAll()
	return nil
}

func (s *Server) trainerPage(*http.Request) (page, error) {
	return page{Name: "trainer", Title: "For the trainer"}, nil
}

var errToken = refuse(http.StatusForbidden, errors.New("that is not the token; the program printed it when it started"))

// becomeTrainer makes a browser the trainer's when it knows the token. Attempts are not limited: nobody guesses 16 characters, and a limit
// would let anybody lock the trainer out.
func (s *Server) becomeTrainer(w http.ResponseWriter, r *http.Request) error {
	if s.class == nil {
		http.Redirect(w, r, "/ui/", http.StatusSeeOther)
		return nil
	}
	if !s.class.knows(r.FormValue("token")) {
		return errToken
	}
	secret := rand.Text()
	remember(w, r, trainerCookie, secret)
	s.class.mu.Lock()
	s.class.trainers[secret] = true
	s.class.mu.Unlock()
	http.Redirect(w, r, "/ui/class", http.StatusSeeOther)
	return nil
}
