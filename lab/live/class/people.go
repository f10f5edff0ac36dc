package class

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"locklab/systems/ratelimit"
)

// Bounds of a class.
const (
	MostPeople  = 200
	longestName = 24 // characters
	codeLength  = 5  // letters
)

// How often people do something. A class shares one address, so nothing is limited by address.
var (
	guesses = ratelimit.Limit{Key: "guesses ", Count: 20, Window: 5 * time.Second} // of a participant
	codes   = ratelimit.Limit{Key: "codes ", Count: 5, Window: time.Minute}        // that were tried for a name
)

// ErrNobody says that somebody without a name guesses. Nothing has changed.
var ErrNobody = errors.New("only a participant guesses; join with a name first")

// ErrOften says that somebody guesses, or tries codes, faster than people do. Nothing has changed.
var ErrOften = errors.New("too many requests; wait a few seconds, and press again")

// People are the participants of a class, and what each got right.
type People struct {
	limiter ratelimit.Limiter

	mu       sync.Mutex
	all      []*person
	browsers map[string]*person // by a secret that only the browser has
	scored   map[string]bool    // questions whose first run was told: their answers are known
}

// Person is a participant.
type Person struct {
	ID   string // no browser knows it
	Name string
	Code string // with it another browser takes the name back
}

type person struct {
	Person
	right   map[string]bool // of each question that was guessed
	screens int             // pages that are open
}

// NewPeople returns a class without participants.
func NewPeople() *People {
	p := &People{limiter: ratelimit.NewLocal()}
	p.Reset()
	return p
}

// Reset removes every participant.
func (p *People) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all, p.browsers, p.scored = nil, make(map[string]*person), make(map[string]bool)
}

// seldom returns ErrOften for what somebody does more often than a limit allows.
func (p *People) seldom(limit ratelimit.Limit, who string) error {
	limit.Key += who
	if _, err := p.limiter.Allow(context.Background(), limit); err != nil {
		return ErrOften
	}
	return nil
}

// Join lets a browser, which has a secret, be a participant. A name that is taken is taken back with its code; the other browsers of that
// participant keep it, too. The error says what to do: the name is no name, or taken, or there is no room, or too many
// codes were tried (ErrOften).
func (p *People) Join(name, code, secret string) error {
	name = strings.Join(strings.Fields(name), " ")
	if n := utf8.RuneCountInString(name); n == 0 || n > longestName || !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable) {
		return fmt.Errorf("choose a name of 1 to %d printable characters", longestName)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.named(name); of != nil {
		if err := p.takeBack(of, code); err != nil {
			return err
		}
		p.browsers[secret] = of
		return nil
	}
	if len(p.all) >= MostPeople {
		return fmt.Errorf("the class is full (%d participants); ask the trainer to begin a new class", MostPeople)
	}
	of := &person{Person: Person{ID: rand.Text(), Name: name, Code: rand.Text()[:codeLength]}, right: make(map[string]bool)}
	p.all, p.browsers[secret] = append(p.all, of), of
	return nil
}

// named is the participant with a name; nil: there is none.
func (p *People) named(name string) *person {
	i := slices.IndexFunc(p.all, func(of *person) bool { return strings.EqualFold(of.Name, name) })
	if i < 0 {
		return nil
	}
	return p.all[i]
}

// takeBack is nil if a code is that of a participant.
func (p *People) takeBack(of *person, code string) error {
	code = strings.ToUpper(strings.TrimSpace(code))
	if code == "" {
		return fmt.Errorf("another participant is called %s; choose another name, or type the code of this one to take it back", of.Name)
	}
	if err := p.seldom(codes, of.ID); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(code), []byte(of.Code)) != 1 {
		return fmt.Errorf("that is not the code of %s; its first browser shows the code beside the name", of.Name)
	}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// Of is the participant whose browser has a secret. Without one it reports false.
func (p *People) Of(secret string) (Person, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.browsers[secret]; of != nil {
		return of.Person, true
	}
	return Person{}, false
}

// find is the participant with an id; nil: there is none. It needs the mutex.
func (p *People) find(id string) *person {
	i := slices.IndexFunc(p.all, func(of *person) bool { return of.ID == id })
	if i < 0 {
		return nil
	}
	return p.all[i]
}

// Looks notes that a participant opens so many pages more.
func (p *People) Looks(id string, more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.find(id); of != nil {
		of.screens += more
	}
}

// Size is how many participants there are.
func (p *People) Size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}

// Looking is how many participants have a page open.
func (p *People) Looking() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.all {
		if of.screens > 0 {
			n++
		}
	}
	return n
}

// MayGuess is nil for a participant that has guessed seldom in the last seconds.
func (p *People) MayGuess(id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.find(id) == nil {
		return ErrNobody
	}
	return p.seldom(guesses, id)
}

// Score notes whose guess of a question was right. The first run of a question counts: then its answer is known.
func (p *People) Score(question string, right map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.scored[question] {
		return
	}
	p.scored[question] = true
	for id, is := range right {
		if of := p.find(id); of != nil {
			of.right[question] = is
		}
	}
}

// Place is a line of the board.
type Place struct {
	Name       string
	Right, All int // questions
	You        bool
}

// Places are the participants, the best first. you is the id of the participant that asks.
func (p *People) Places(you string) (all []Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.all {
		line := Place{Name: of.Name, All: len(of.right), You: of.ID == you}
		for _, right := range of.right {
			if right {
				line.Right++
			}
		}
		all = append(all, line)
	}
	slices.SortFunc(all, func(a, b Place) int { return cmp.Or(cmp.Compare(b.Right, a.Right), strings.Compare(a.Name, b.Name)) })
	return all
}
