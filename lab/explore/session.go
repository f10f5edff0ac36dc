package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/lockstrategy/articlelock"
)

// MostMoves bounds a session: time can pass without end.
const MostMoves = 60

// Session is a play that a person goes on with, takes back, and begins again, by one word for each button. It may have a list of moves to
// follow.
type Session struct {
	*Play
	Last string // what came of the last move

	lock   articlelock.Lock
	list   []Move // that was given to follow
	undone []Move // the moves before some were taken back
}

// NewSession begins with the clients A and B. The caller must close it.
func NewSession(lock articlelock.Lock) (*Session, error) {
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
		s.list, s.undone = list, nil
	}
	return err
}

// Strays reports whether the list does not go on after the moves that were made.
func (s *Session) Strays() bool {
	_, goesOn := after(s.Moves(), s.list)
	return s.list != nil && !goesOn
}

// Rest is what is left of the list, or else of the moves that were taken back. So a detour from a list that was found leads back to it.
func (s *Session) Rest() []Move {
	for _, list := range [][]Move{s.list, s.undone} {
		if rest, goesOn := after(s.Moves(), list); goesOn && len(rest) > 0 {
			return rest
		}
	}
	return nil
}

// after is what is left of a list that begins with these moves.
func after(made, list []Move) (rest []Move, begins bool) {
	if len(made) > len(list) || !slices.Equal(made, list[:len(made)]) {
		return nil, false
	}
	return list[len(made):], true
}

// keep keeps the moves, before some of them are taken back. They can be made again by "next".
func (s *Session) keep() {
	if _, known := after(s.Moves(), s.undone); !known {
		s.undone = slices.Clone(s.Moves())
	}
}

// goTo takes moves back, or makes what is left of a list, until so many are made.
func (s *Session) goTo(ctx context.Context, text string) error {
	to, err := strconv.Atoi(text)
	made := len(s.Moves())
	if err != nil || to < 0 || to > made+len(s.Rest()) {
		return fmt.Errorf("%q is no place in the moves; choose from 0 to %d", text, made+len(s.Rest()))
	}
	s.keep()
	last := s.Last
	for len(s.Moves()) > to {
		s.TakeBack()
		s.Last = ""
	}
	for len(s.Moves()) < to {
		if err := s.Do(ctx, "next"); err != nil {
			for len(s.Moves()) > made {
				s.TakeBack()
			}
			s.Last = last
			return err
		}
	}
	return nil
}

// CanLose reports whether the reply to a client's next step can be lost.
func (s *Session) CanLose(client string) bool { return s.Can(Move{Client: client, Lose: true}) }

// Do does what a word says. back, restart and next are such words. AB and ABC begin with those clients, and "to 3" goes to the moment after
// three moves. Each other word is a move. After an error nothing has changed.
func (s *Session) Do(ctx context.Context, what string) error {
	if to, goes := strings.CutPrefix(what, "to "); goes {
		return s.goTo(ctx, to)
	}
	switch what {
	case "back":
		s.keep()
		if !s.TakeBack() {
			return errors.New("there is no move to take back")
		}
		s.Last = ""
		return nil
	case "restart":
		s.keep()
		return s.begin(s.Names())
	case "AB", "ABC":
		err := s.begin(what)
		if err == nil {
			s.list, s.undone = nil, nil
		}
		return err
	case "next":
		rest := s.Rest()
		if len(rest) == 0 {
			return errors.New("no list of moves goes on here")
		}
		what = rest[0].String()
	}
	return s.move(ctx, what)
}

// move makes one move.
func (s *Session) move(ctx context.Context, what string) error {
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
