package live

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	qr "github.com/piglig/go-qr"

	"locklab/internal/sentence"
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
	MustSignIn   bool   // it was the trainer's, and is no longer
	Removed      bool   // it was a participant's, and is no longer
	Origin       string // at which it reaches the page
}

// Trains reports whether it is the trainer's.
func (v viewer) Trains() bool { return v.Role == trainer }

// classFile is where the class is kept, in the folder of the saved runs.
const classFile = "class.json"

// classroom is the class, and how one joins it.
type classroom struct {
	Class
	*class.File
	JoinURL string        // where one joins
	Code    template.HTML // QR code of it
}

// openClassroom returns the class that is kept in the folder of the saved runs, or a new one.
func openClassroom(cfg Config) (*classroom, error) {
	file, err := class.Open(filepath.Join(cfg.Store, classFile))
	if err != nil {
		return nil, err
	}
	c := &classroom{Class: *cfg.Class, File: file, JoinURL: cfg.Address + "/ui/join"}
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

// Host and Path are its two halves: a line may end between them.
func (c *classroom) Host() string { return strings.TrimSuffix(c.Typed(), c.Path()) }
func (c *classroom) Path() string { return "/ui/join" }

// Port is that of the address.
func (c *classroom) Port() string {
	_, port, _ := net.SplitHostPort(c.Host())
	return cmp.Or(port, "8070")
}

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
	signedIn := cookie(r, trainerCookie)
	if s.class.Trains(signedIn) || given && s.class.knows(token) {
		v.Role = trainer
	}
	v.MustSignIn = signedIn != "" && !v.Trains()
	v.Removed = cookie(r, personCookie) != "" && v.Role == visitor
	return v
}

// knows reports whether a token is that of the trainer.
func (c Class) knows(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(c.Token)) == 1
}

// How many participants the board shows to everybody: the best, or before the first point those who joined last.
const (
	bestShown   = 10
	newestShown = 30
)

// places are the participants with their points, as a viewer sees them.
type places struct {
	All, Best, Newest []class.Place
	Older             int         // participants who joined before the newest
	Mine              class.Place // without a rank the viewer is no participant
	Scored            bool        // somebody has a point
}

func (s *Server) places(v viewer) places {
	all := s.class.Places(v.ID)
	p := places{All: all, Best: all[:min(bestShown, len(all))], Older: max(0, len(all)-newestShown)}
	p.Scored = len(all) > 0 && all[0].Right > 0
	p.Newest = slices.Clone(all[p.Older:]) // without points all are in the order in which they joined
	slices.Reverse(p.Newest)
	for _, of := range all {
		if of.You {
			p.Mine = of
		}
	}
	return p
}

// ordinal is a rank as people say it: 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	end := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			end = "st"
		case 2:
			end = "nd"
		case 3:
			end = "rd"
		}
	}
	return strconv.Itoa(n) + end
}

// showClass shows the participants and their points in each browser.
func (s *Server) showClass() {
	s.board.putEach("class", func(v viewer) string { return s.fragment("board", s.places(v)) })
	s.board.putEach("class-all", func(v viewer) string {
		if !v.Trains() {
			return ""
		}
		return s.fragment("everybody", s.places(v))
	})
	s.showPeople()
	s.board.putEach("member", func(v viewer) string { return s.fragment("member", v) })
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
	s.mu.Lock()
	s.ledTo = r.URL.Path
	s.mu.Unlock()
	s.board.put("now", s.fragment("now", link{r.URL.Path, title}))
}

var errNoClass = refuse(http.StatusNotFound, errors.New("there is no class; start the page with --class"))

// classPage shows the address, the participants and their points.
func (s *Server) classPage(r *http.Request) (page, error) {
	if s.class == nil {
		return page{}, errNoClass
	}
	parts := []string{"class"}
	v := s.viewerOf(r)
	if v.Trains() {
		parts = append(parts, "class-all")
	}
	if v.Name != "" || v.Removed {
		parts = append(parts, "member")
	}
	return page{Name: "class", Title: "The class", Parts: parts, Body: map[string]any{
		"Local": isLoopback(hostOf(s.cfg.Address)), "Room": s.class,
	}}, nil
}

// joining is what somebody has typed to join, and what is wrong with it.
type joining struct{ Name, Code, Wrong string }

func (s *Server) joinPage(*http.Request) (page, error) {
	return page{Name: "join", Title: "Join the class", Body: joining{}}, nil
}

// joinClass gives a browser a name, and leads it to where the trainer is.
func (s *Server) joinClass(w http.ResponseWriter, r *http.Request) error {
	if s.class == nil || s.viewerOf(r).ID != "" {
		http.Redirect(w, r, "/ui/", http.StatusSeeOther)
		return nil
	}
	secret, typed := rand.Text(), joining{Name: r.FormValue("name"), Code: r.FormValue("code")}
	if err := s.class.Join(typed.Name, typed.Code, secret, networkOf(r)); err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, class.ErrOften) || errors.Is(err, class.ErrCrowded) {
			status = http.StatusTooManyRequests
		}
		if isProgram(r) {
			return refuse(status, err)
		}
		typed.Wrong = sentence.Of(err)
		s.show(w, r, status, page{Name: "join", Title: "Join the class", Body: typed})
		return nil
	}
	s.keepClass()
	remember(w, r, personCookie, secret)
	s.showAll() // how many can guess
	s.mu.Lock()
	to := cmp.Or(s.ledTo, "/ui/class")
	s.mu.Unlock()
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// networkOf is the address from which a request comes. An IPv6 address stands for its network of 64 bits, because one device has many of
// them. Behind a proxy on this machine it is the last address in X-Forwarded-For, which that proxy has added.
//
// What is NOT guaranteed: that it tells people apart. A school shares one address, and so do all who come through a proxy on another
// machine. And a proxy that passes on the X-Forwarded-For of a client without adding to it lets that client invent addresses.
func networkOf(r *http.Request) string {
	from := nameOf(r.RemoteAddr)
	if passed := r.Header.Values("X-Forwarded-For"); isLoopback(from) && len(passed) > 0 {
		all := strings.Split(passed[len(passed)-1], ",")
		from = strings.TrimSpace(all[len(all)-1])
	}
	addr, err := netip.ParseAddr(from)
	if err != nil {
		return "unknown"
	}
	if addr = addr.Unmap(); addr.Is6() {
		return netip.PrefixFrom(addr.WithZone(""), 64).Masked().String()
	}
	return addr.String()
}

// keepClass saves the class. If that fails, the trainer reads why, and the class goes on.
func (s *Server) keepClass() {
	if s.class == nil {
		return
	}
	before := s.class.NotSaved()
	if err := s.class.Save(); err != nil || before != nil {
		s.showPeople()
	}
}

// removePerson removes a participant with the guesses and points. The same person may join again under another name.
func (s *Server) removePerson(r *http.Request) error {
	if s.class == nil {
		return errNoClass
	}
	name := r.FormValue("name")
	s.mu.Lock()
	id, removed := s.class.Remove(name)
	s.questions.Forget(id)
	s.mu.Unlock()
	if !removed {
		return refuse(http.StatusNotFound, fmt.Errorf("no participant is called %q", name))
	}
	s.keepClass()
	s.showAll()
	return nil
}

// resetClass removes every participant, guess and burst, and asks every question anew.
func (s *Server) resetClass(*http.Request) error {
	if s.class == nil {
		return errNoClass
	}
	s.newClass()
	s.keepClass()
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
	s.class.SignIn(secret)
	s.keepClass()
	remember(w, r, trainerCookie, secret)
	http.Redirect(w, r, "/ui/class", http.StatusSeeOther)
	return nil
}
