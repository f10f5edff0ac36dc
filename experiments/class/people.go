package class

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/time/rate"
)

// Bounds of a class.
const (
	MostPeople       = 200
	longestName      = 24 // characters
	joinsPerSecond   = 20
	guessesPerSecond = 2 // of a participant
	guessesSaved     = 10
)

// ErrNobody says that somebody without a name guesses. Nothing has changed.
var ErrNobody = errors.New("only a participant guesses; join with a name first")

// ErrOften says that somebody guesses, or that many join, faster than people do. Nothing has changed.
var ErrOften = errors.New("too many requests; wait a few seconds, and press again")

// People are the participants of a class, and what each got right.
type People struct {
	joins *rate.Limiter

	mu     sync.Mutex
	all    map[string]*person // by an id that only the participant has
	scored map[string]bool    // questions whose first run has ended: their answers are known
}

// person is a participant.
type person struct {
	Name    string
	guesses *rate.Limiter
	right   map[string]bool // of each question that was guessed
}

// NewPeople returns a class without participants.
func NewPeople() *People {
	p := &People{joins: rate.NewLimiter(joinsPerSecond, MostPeople)}
	p.Reset()
	return p
}

// Reset removes every participant.
func (p *People) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all, p.scored = make(map[string]*person), make(map[string]bool)
}

// Join adds a participant. The error says what to do: the name is no name, or taken, or there is no room, or ErrOften.
func (p *People) Join(name, id string) error {
	if !p.joins.Allow() {
		return ErrOften
	}
	name = strings.Join(strings.Fields(name), " ")
	if n := utf8.RuneCountInString(name); n == 0 || n > longestName || !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable) {
		return fmt.Errorf("choose a name of 1 to %d printable characters", longestName)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) >= MostPeople {
		return fmt.Errorf("the class is full (%d participants); ask the trainer to press Remove all participants", MostPeople)
	}
	for _, other := range p.all {
		if strings.EqualFold(other.Name, name) {
			return fmt.Errorf("another participant is called %s; choose another name", name)
		}
	}
	p.all[id] = &person{Name: name, guesses: rate.NewLimiter(guessesPerSecond, guessesSaved), right: make(map[string]bool)}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// Name is the name of a participant; empty: nobody has this id.
func (p *People) Name(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.all[id]; of != nil {
		return of.Name
	}
	return ""
}

// Size is how many participants there are.
func (p *People) Size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}

// MayGuess is nil for a participant that has guessed seldom in the last seconds.
func (p *People) MayGuess(id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch of := p.all[id]; {
	case of == nil:
		return ErrNobody
	case !of.guesses.Allow():
		return ErrOften
	}
	return nil
}

// Score notes whose guess of a question was right. The first run of a question counts: after it the answer is known.
func (p *People) Score(question string, right map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.scored[question] {
		return
	}
	p.scored[question] = true
	for id, is := range right {
		if of := p.all[id]; of != nil {
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
	for id, of := range p.all {
		line := Place{Name: of.Name, All: len(of.right), You: id == you}
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
