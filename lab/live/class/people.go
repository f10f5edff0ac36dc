package class

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
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
	idLength    = 13 // letters: two are never equal
)

// Limits of how often people do something.
var (
	joins   = ratelimit.Limit{Key: "joins ", Count: 20, Window: 10 * time.Second}  // from a network address, which a school shares
	guesses = ratelimit.Limit{Key: "guesses ", Count: 20, Window: 5 * time.Second} // of a participant
	codes   = ratelimit.Limit{Key: "codes ", Count: 5, Window: time.Minute}        // that were tried for a name
)

// ErrNobody says that somebody without a name guesses. Nothing has changed.
var ErrNobody = errors.New("only a participant guesses; join with a name first")

// ErrOften says that somebody guesses, or tries codes, faster than people do. Nothing has changed.
var ErrOften = errors.New("too many requests; wait a few seconds, and press again")

// ErrCrowded says that more people join from one network address than press a button in that time. Nothing has changed.
var ErrCrowded = fmt.Errorf("many people are joining from your network; wait %.0f seconds, and press Join again", joins.Window.Seconds())

// People are the participants of a class, what each got right, and who trains them.
type People struct {
	limiter ratelimit.Limiter

	mu       sync.Mutex
	all      []*person          // in the order in which they joined
	browsers map[string]*person // by the hash of a secret that only the browser has
	scored   map[string]bool    // questions whose first run was told: their answers are known
	trainers map[string]bool    // their browsers, by the hash of a secret
	text     []byte             // of the file; nil: something has changed
}

// Person is a participant.
type Person struct {
	ID   string // no browser knows it
	Name string
	Code string // with it another browser takes the name back
}

type person struct {
	Person
	Right    map[string]bool // of each question that was guessed
	Browsers []string        // hashes of their secrets
	screens  int             // pages that are open
}

// hash replaces a secret wherever it is kept. The secrets are random and long, so nobody can guess one from its hash.
func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// NewPeople returns a class without participants.
func NewPeople() *People {
	p := &People{limiter: ratelimit.NewLocal(), trainers: make(map[string]bool)}
	p.Reset()
	return p
}

// SignIn makes a browser, which has a secret, the trainer's.
func (p *People) SignIn(secret string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trainers[hash(secret)] = true
	p.text = nil
}

// Trains reports whether the browser that has a secret is the trainer's.
func (p *People) Trains(secret string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trainers[hash(secret)]
}

// Reset removes every participant. The trainers stay.
func (p *People) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all, p.browsers, p.scored = nil, make(map[string]*person), make(map[string]bool)
	p.text = nil
}

// seldom reports whether somebody does something no more often than a limit allows.
func (p *People) seldom(limit ratelimit.Limit, who string) bool {
	limit.Key += who
	_, err := p.limiter.Allow(context.Background(), limit)
	return err == nil
}

// Join lets a browser, which has a secret, be a participant. from is its network address. A name that is taken is taken back with its
// code; the other browsers of that participant keep it, too. The error says what to do: the name is no name, or taken, or there is no
// room, or too many codes were tried (ErrOften), or too many people join at the same time (ErrCrowded).
func (p *People) Join(name, code, secret, from string) error {
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
		p.admit(of, secret)
		return nil
	}
	if len(p.all) >= MostPeople {
		return fmt.Errorf("the class is full (%d participants); ask the trainer to begin a new class", MostPeople)
	}
	if !p.seldom(joins, from) {
		return ErrCrowded
	}
	of := &person{Person: Person{ID: rand.Text()[:idLength], Name: name, Code: rand.Text()[:codeLength]}, Right: make(map[string]bool)}
	p.all = append(p.all, of)
	p.admit(of, secret)
	return nil
}

// admit lets a browser be a participant.
func (p *People) admit(of *person, secret string) {
	of.Browsers = append(of.Browsers, hash(secret))
	p.browsers[hash(secret)] = of
	p.text = nil
}

// Remove removes the participant with a name, and returns the id that it had. Without one it reports false.
func (p *People) Remove(name string) (id string, removed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.named(name)
	if of == nil {
		return "", false
	}
	for _, browser := range of.Browsers {
		delete(p.browsers, browser)
	}
	p.all = slices.DeleteFunc(p.all, func(other *person) bool { return other == of })
	p.text = nil
	return of.ID, true
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
	if !p.seldom(codes, of.ID) {
		return ErrOften
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
	if of := p.browsers[hash(secret)]; of != nil {
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

// AllowGuess counts a guess of a participant, and returns an error for one too many in the last seconds.
func (p *People) AllowGuess(id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.find(id) == nil {
		return ErrNobody
	}
	if !p.seldom(guesses, id) {
		return ErrOften
	}
	return nil
}

// Score notes whose guess of a question was right. The first run of a question counts: then its answer is known.
func (p *People) Score(question string, right map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.scored[question] {
		return
	}
	p.scored[question] = true
	p.text = nil
	for id, is := range right {
		if of := p.find(id); of != nil {
			of.Right[question] = is
		}
	}
}

// Place is a line of the board.
type Place struct {
	Rank       int // from 1; participants with as many right answers share it
	Name       string
	Right, All int // questions
	You        bool
}

// Places are the participants, the best first; those with as many right answers in the order in which they joined. you is the id of the
// participant that asks.
func (p *People) Places(you string) (all []Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.all {
		line := Place{Name: of.Name, All: len(of.Right), You: of.ID == you}
		for _, right := range of.Right {
			if right {
				line.Right++
			}
		}
		all = append(all, line)
	}
	slices.SortStableFunc(all, func(a, b Place) int { return cmp.Compare(b.Right, a.Right) })
	for i := range all {
		if all[i].Rank = i + 1; i > 0 && all[i].Right == all[i-1].Right {
			all[i].Rank = all[i-1].Rank
		}
	}
	return all
}
