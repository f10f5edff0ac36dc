package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"locklab/lockstrategy/naive"
)

// MostMoves bounds a session: time can pass without end.
const MostMoves = 60

// Session is a play that a person goes on with, takes back, and begins again, by one word for each button. It may have a list of moves to
// follow.
type Session struct {
	*Play
	Last string // what came of the last move

	lock naive.Lock
	list []Move
}

// NewSession begins with the clients A and B. The caller must close it.
func NewSession(lock naive.Lock) (*Session, error) {
	s := &Session{lock: lock}
	return s, s.begin("AB")
}

// begin begins anew, with a client for each letter.
func (s *Session) begin(clients string) error {
	play, err := NewPlay(s.lock, clients)
	if err != nil {
		return err
	}
	if s.Play != nil {
		_ = s.Close()
	}
	s.Play, s.Last = play, ""
	return nil
}

// Follow begins anew with a list of moves, which "next" follows. Without a move in it nothing changes but that there is no list.
func (s *Session) Follow(clients string, list []Move) error {
	if list == nil {
		s.list = nil
		return nil
	}
	err := s.begin(clients)
	if err == nil {
		s.list = list
	}
	return err
}

// Follows reports whether there is a list.
func (s *Session) Follows() bool { return s.list != nil }

// Rest is what is left of the list, unless other moves were made.
func (s *Session) Rest() []Move {
	if made := s.Moves(); len(made) <= len(s.list) && slices.Equal(made, s.list[:len(made)]) {
		return s.list[len(made):]
	}
	return nil
}

// CanLose reports whether the reply to a client's next step can be lost.
func (s *Session) CanLose(client string) bool { return s.Can(Move{Client: client, Lose: true}) }

// Do does what a word says: back, restart, next, AB or ABC to begin with those clients, or a move. After an error nothing has changed.
func (s *Session) Do(ctx context.Context, what string) error {
	switch what {
	case "back":
		if !s.TakeBack() {
			return errors.New("there is no move to take back")
		}
		s.Last = ""
		return nil
	case "restart":
		return s.begin(s.Names())
	case "AB", "ABC":
		err := s.begin(what)
		if err == nil {
			s.list = nil
		}
		return err
	case "next":
		rest := s.Rest()
		if len(rest) == 0 {
			return errors.New("no list of moves goes on here")
		}
		what = rest[0].String()
	}
	moves, err := Parse(what)
	switch {
	case err != nil:
		return err
	case len(moves) != 1:
		return fmt.Errorf("%q is not one move", what)
	case len(s.Moves()) == MostMoves:
		return fmt.Errorf("the play has %d moves, and that is the most", MostMoves)
	}
	happened, err := s.Move(ctx, moves[0])
	if err == nil {
		s.Last = moves[0].String() + " " + moves[0].Says(happened)
	}
	return err
}
