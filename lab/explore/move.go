// Package explore moves the clients of a lock one command at a time. A list of moves decides which client goes next, which
// dies, and when time passes. The list comes from an experiment, from a person (app lab step), or from [Explore], which
// tries every interleaving.
//
// Each client takes the lock, reads a counter, writes it back plus one, and releases the lock. A violation is seen in the
// counter, or in a lock that stays.
//
// What is NOT guaranteed: that a client does only this in an app. No client waits here, for one: a refused client ends.
package explore

import (
	"fmt"
	"strings"

	"locklab/lab/history"
)

// Move is one thing that happens.
type Move struct {
	Client string // empty: time passes until every expiry is over
	Die    bool   // it stops for good, instead of its next step
	Lose   bool   // the server executes its next step, which requests the lock, and the reply is lost
}

// String is the move as [Parse] reads it: "A", "A†", "A?", or "…".
func (m Move) String() string {
	switch {
	case m.Client == "":
		return "…"
	case m.Die:
		return m.Client + "†"
	case m.Lose:
		return m.Client + "?"
	}
	return m.Client
}

// Means is what the move does.
func (m Move) Means() string {
	switch {
	case m.Client == "":
		return "time passes, until every expiry is over"
	case m.Die:
		return "it dies"
	case m.Lose:
		return "the server executes its step, and the reply is lost"
	}
	return "its next step"
}

// Legend explains the moves.
func Legend() string {
	var all []string
	for _, m := range []Move{{Client: "A"}, {Client: "A", Die: true}, {Client: "A", Lose: true}, {}} {
		all = append(all, m.String()+": "+m.Means())
	}
	return strings.Join(all, " · ")
}

// Says is what came of the move, in a line.
func (m Move) Says(happened []history.Event) string {
	var words []string
	for _, e := range happened {
		says := e.Summary()
		if e.Timeline != m.Client {
			says = e.Timeline + ": " + says
		}
		words = append(words, says)
	}
	return strings.Join(words, "; ")
}

// Parse reads a list of moves, separated by spaces: "A A B A† …". A keyboard may write A! for A†, and t or ... for ….
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
	m := Move{Client: word[:1]}
	switch word[1:] {
	case "":
	case "†", "!":
		m.Die = true
	case "?":
		m.Lose = true
	default:
		m.Client = ""
	}
	if m.Client < "A" || m.Client > "Z" {
		return Move{}, fmt.Errorf("%q is no move: A lets client A do its next step, A† (or A!) lets it die, "+
			"A? loses the reply to its step, … (or t) lets time pass", word)
	}
	return m, nil
}

// Moves is a list of moves that is part of the program. It panics when Parse refuses it.
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

// Names are the clients in moves, each once, in alphabetical order.
func Names(moves []Move) string {
	seen := make(map[string]bool)
	for _, m := range moves {
		if m.Client != "" {
			seen[m.Client] = true
		}
	}
	return strings.Join(sortedKeys(seen), "")
}
