// Package steps keeps games: locks whose clients a person moves, one command at a time. On the live page everybody moves the same game of a
// lock; in a browser of the static site a reader has one alone (tools/site/play). It tells when a game has changed, and shows it as HTML.
package steps

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"locklab/lab/explore"
	"locklab/lockstrategy/articlelock"
)

// MostGames bounds the games that are open: each has a Redis in this process.
const MostGames = 12

// Lock is a lock that can be played: the one of an experiment with a number, from 1.
type Lock struct {
	ID       string           `json:"id"` // of the experiment
	Title    string           `json:"title"`
	Number   int              `json:"number"`
	Of       articlelock.Lock `json:"-"`
	Searches []explore.Search `json:"searches"` // for its violations; expected ones come first
}

// Key names the lock among all that can be played.
func (l Lock) Key() string { return fmt.Sprintf("steps-%s-%d", l.ID, l.Number) }

// named is a lock as text: another program has its steps by its name.
type named struct {
	lock
	Name string `json:"name"`
}

type lock Lock

// MarshalJSON writes the lock without its steps.
func (l Lock) MarshalJSON() ([]byte, error) { return json.Marshal(named{lock(l), l.Of.Name}) }

// UnmarshalJSON finds the steps by the lock's name.
func (l *Lock) UnmarshalJSON(text []byte) error {
	var n named
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	*l = Lock(n.lock)
	var known bool
	if l.Of, known = explore.Lock(n.Name); !known {
		return fmt.Errorf("there is no lock %q", n.Name)
	}
	return nil
}

// Game is the play of a lock.
type Game struct {
	Lock
	*explore.Session
	Searching bool               // for the shortest violation
	Searched  []explore.Searched // what the search has found
}

// Found says what the search has found, and how to see it; empty: there is nothing to say now.
func (g *Game) Found() string {
	if len(g.Searched) == 0 {
		return ""
	}
	switch last := g.Searched[len(g.Searched)-1]; {
	case last.Found.Counterexample == nil:
		return "The search found no violation in any interleaving."
	case len(g.Moves()) == 0:
		return fmt.Sprintf("Found: %d moves lead to a violation. Press Next for each of them.", len(g.Rest()))
	}
	return ""
}

// IsElsewhere reports whether something is violated, and nothing of what a player looks for.
func (g *Game) IsElsewhere() bool {
	goal, _ := explore.Goal(g.Searches)
	violated := g.Violations()
	return len(violated) > 0 && !slices.ContainsFunc(violated, func(v explore.Violation) bool { return slices.Contains(goal, v) })
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
		if err := game.Do(ctx, what); err != nil {
			return fmt.Errorf("%w. Nothing has changed: press another button of the play", err)
		}
		if game.Names() != before {
			game.Searched = nil // with other clients the search must be made anew
		}
		return nil
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
	session, err := explore.NewSession(l.Of)
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
		return game.Follow(searched[len(searched)-1].Bounds.Clients, moves)
	})
}

// shortest searches, and returns the moves up to the one that violates; nil: none does.
func (l Lock) shortest(ctx context.Context) (searched []explore.Searched, moves []explore.Move, err error) {
	if searched, err = explore.Shortest(ctx, l.Of, l.Searches); err != nil {
		return nil, nil, err
	}
	last := searched[len(searched)-1]
	moves, err = explore.Until(ctx, l.Of, last.Bounds.Clients, last.Found.Counterexample, last.Violation)
	return searched, moves, err
}
