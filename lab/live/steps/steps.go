// Package steps keeps the games of the live page: locks whose clients a person moves, one command at a time. Everybody moves the same game
// of a lock. It knows nothing of pages: it tells when a game has changed.
package steps

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"locklab/lab"
	"locklab/lab/explore"
	"locklab/lockstrategy/articlelock"
)

// MostGames bounds the games that are open: each has a Redis in this process.
const MostGames = 12

// Lock is a lock that can be played: the one of an experiment with a number, from 1.
type Lock struct {
	lab.Experiment
	Number int
}

// Find returns a lock of an experiment.
func Find(e lab.Experiment, number int) (Lock, error) {
	if number < 1 || number > len(e.Locks()) {
		return Lock{}, fmt.Errorf("%s has the locks 1 to %d", e.ID, len(e.Locks()))
	}
	return Lock{e, number}, nil
}

// Of is the lock itself.
func (l Lock) Of() articlelock.Lock { return l.Locks()[l.Number-1] }

// Key names the lock among all that can be played.
func (l Lock) Key() string { return fmt.Sprintf("steps-%s-%d", l.ID, l.Number) }

// Game is the play of a lock.
type Game struct {
	Lock
	*explore.Session
	Searching bool           // for the shortest violation
	Searched  []lab.Explored // what the search has found
}

// Games are the games that are open.
type Games struct {
	Changed func(*Game) // is called after each press, before the next one. It must not call Games.
	Closed  func(Lock)  // is called when a game was closed for another one

	mu   sync.Mutex
	open []*Game // the one that was used last is at the end
}

// Open opens the game of a lock, unless it is open.
func (g *Games) Open(l Lock) error { return g.with(l, func(*Game) error { return nil }) }

// Press does what a button says: "shortest" looks for the shortest violation, and [explore.Session.Do] has the other words. After an error
// nothing has changed.
func (g *Games) Press(ctx context.Context, l Lock, what string) error {
	if what == "shortest" {
		return g.search(ctx, l)
	}
	return g.with(l, func(game *Game) error {
		before := game.Names()
		err := game.Do(ctx, what)
		if game.Names() != before {
			game.Searched = nil // with other clients the search must be made anew
		}
		return err
	})
}

// Close closes all games.
func (g *Games) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, game := range g.open {
		_ = game.Close()
	}
	g.open = nil
}

// with does something with a game, and tells what has become of it.
func (g *Games) with(l Lock, do func(*Game) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	game, err := g.game(l)
	if err != nil {
		return err
	}
	err = do(game)
	g.Changed(game)
	return err
}

// game finds the game of a lock, or opens it. Of too many it closes the one that was not used for the longest time. It needs the mutex.
func (g *Games) game(l Lock) (*Game, error) {
	if at := slices.IndexFunc(g.open, func(game *Game) bool { return game.Key() == l.Key() }); at >= 0 {
		game := g.open[at]
		g.open = append(slices.Delete(g.open, at, at+1), game)
		return game, nil
	}
	session, err := explore.NewSession(l.Of())
	if err != nil {
		return nil, err
	}
	if len(g.open) == MostGames {
		oldest := g.open[0]
		g.open = slices.Delete(g.open, 0, 1)
		_ = oldest.Close()
		g.Closed(oldest.Lock)
	}
	game := &Game{Lock: l, Session: session}
	g.open = append(g.open, game)
	return game, nil
}

// search looks for the shortest violation, and loads its moves. It takes some seconds at most, in which others can move.
func (g *Games) search(ctx context.Context, l Lock) error {
	begun := false
	err := g.with(l, func(game *Game) error {
		begun, game.Searching = game.Searching, true
		return nil
	})
	if err != nil || begun {
		return err
	}
	searched, moves, failed := l.shortest(ctx)
	return g.with(l, func(game *Game) error {
		game.Searching = false
		if failed != nil {
			return failed
		}
		game.Searched = searched
		return game.Follow(searched[len(searched)-1].Of.Bounds.Clients, moves)
	})
}

// shortest searches, and returns the moves up to the one that violates; nil: none does.
func (l Lock) shortest(ctx context.Context) (searched []lab.Explored, moves []explore.Move, err error) {
	if searched, err = l.Shortest(ctx, l.Of()); err != nil {
		return nil, nil, err
	}
	last := searched[len(searched)-1]
	moves, err = explore.Until(ctx, l.Of(), last.Of.Bounds.Clients, last.Found.Counterexample, last.Of.Violation)
	return searched, moves, err
}
