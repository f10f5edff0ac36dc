// Package steps moves the clients of a lock one command at a time: who goes next, who dies, and when time passes is decided
// by a list of moves, by a person (app lab step), or by nobody: [Explore] tries every order.
//
// Each client takes the lock, reads a counter, writes it back plus one, and gives the lock back. What is
// broken is seen in the counter, or in a lock that stays.
//
// What is NOT guaranteed: that a client does only this in an app. Nobody waits here, for one: who is refused goes away.
package steps

import (
	"fmt"
	"strings"
)

// Move is one thing that happens.
type Move struct {
	Who  string // a client; empty: time passes until every expiry is over
	Die  bool   // it stops for good, instead of its next step
	Lose bool   // the server does its next step, which asks for the lock, and the answer is lost
}

// String is the move as [Parse] reads it: "A", "A†", "A?", or "…".
func (m Move) String() string {
	switch {
	case m.Who == "":
		return "…"
	case m.Die:
		return m.Who + "†"
	case m.Lose:
		return m.Who + "?"
	}
	return m.Who
}

// Parse reads a list of moves, separated by spaces: "A A B A† …". What a keyboard has not got may be written
// otherwise: A! is A†, and t or ... is ….
func Parse(text string) (moves []Move, err error) {
	for _, word := range strings.Fields(text) {
		m, err := parse(word)
		if err != nil {
			return nil, err
		}
		moves = append(moves, m)
	}
	return moves, nil
}

func parse(word string) (Move, error) {
	switch word {
	case "…", "...", "t":
		return Move{}, nil
	}
	m := Move{Who: word[:1]}
	switch word[1:] {
	case "":
	case "†", "!":
		m.Die = true
	case "?":
		m.Lose = true
	default:
		m.Who = ""
	}
	if m.Who < "A" || m.Who > "Z" {
		return Move{}, fmt.Errorf("%q is no move: A lets client A do its next step, A† (or A!) lets it die, A? loses the answer to its step, … (or t) lets time pass", word)
	}
	return m, nil
}

// Moves is a list of moves that a program has; a mistake in it is one of the program's.
func Moves(text string) []Move {
	moves, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return moves
}

// Text is moves as Parse reads them.
func Text(moves []Move) string {
	words := make([]string, len(moves))
	for i, m := range moves {
		words[i] = m.String()
	}
	return strings.Join(words, " ")
}

// Names are the clients in moves, each once, in the order of the alphabet.
func Names(moves []Move) string {
	seen := make(map[string]bool)
	for _, m := range moves {
		if m.Who != "" {
			seen[m.Who] = true
		}
	}
	return strings.Join(sortedKeys(seen), "")
}
