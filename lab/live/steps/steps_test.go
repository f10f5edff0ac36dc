package steps_test

import (
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"locklab/lab/claims"
	"locklab/lab/explore"
	"locklab/lab/live/steps"
)

// locks are those of the catalogue that can be played.
func locks() (all []steps.Lock) {
	for _, e := range claims.All() {
		for i, l := range e.Locks() {
			all = append(all, steps.Lock{ID: e.ID, Number: i + 1, Of: l, Searches: e.Searches(l)})
		}
	}
	return all
}

// opened has no game, and keeps what it tells: the moves of the newest change, and the locks whose games were closed.
func opened(t *testing.T) (games *steps.Games, newest func() string, closed func() []string) {
	t.Helper()
	var mu sync.Mutex
	var moves string
	var ended []string
	games = &steps.Games{
		Changed: func(g *steps.Game) { mu.Lock(); defer mu.Unlock(); moves = explore.Text(g.Moves()) },
		Closed:  func(l steps.Lock) { mu.Lock(); defer mu.Unlock(); ended = append(ended, l.Key()) },
	}
	t.Cleanup(games.Close)
	newest = func() string { mu.Lock(); defer mu.Unlock(); return moves }
	closed = func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(ended) }
	return games, newest, closed
}

// Each lock that can be played can be sent to a browser, which has its steps, too.
func TestALockIsSent(t *testing.T) {
	t.Parallel()
	for _, l := range locks() {
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var received steps.Lock
		if err := json.Unmarshal(text, &received); err != nil {
			t.Error(err)
		}
		isSame := received.Key() == l.Key() && received.Of.Name == l.Of.Name && slices.Equal(received.Searches, l.Searches)
		if !isSame || len(received.Of.Acquire) == 0 {
			t.Errorf("%s becomes %s", l.Key(), text)
		}
	}
}

// Moves that were taken back can be made again, one by one or up to a moment of the list, until another move is made.
func TestMovesThatWereTakenBackAreMadeAgain(t *testing.T) {
	t.Parallel()
	games, moves, _ := opened(t)
	lock := locks()[0]
	press := func(want string, buttons ...string) {
		t.Helper()
		for _, b := range buttons {
			if err := games.Press(t.Context(), lock, b); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
		}
		if got := moves(); got != want {
			t.Errorf("after %q the moves are %q, want %q", buttons, got, want)
		}
	}
	refused := func(button string) {
		t.Helper()
		before := moves()
		if err := games.Press(t.Context(), lock, button); err == nil || moves() != before {
			t.Errorf("%q is not refused: %v, and the moves are %q", button, err, moves())
		}
	}
	press("A A", "A", "A", "B", "…", "back", "back")
	press("A A B", "next")
	press("A A B …", "to 4")
	press("A", "to 1")
	refused("to 5")
	press("A A A†", "to 0", "A", "A", "A†", "restart", "next", "next", "next")
	press("A A†", "restart", "A", "A†") // another way
	refused("next")
	press("A A†", "back", "next")
	press("", "AB")
}

// Presses that arrive simultaneously are done one after the other, and a game is bounded.
func TestPressesAreDoneOneAfterTheOther(t *testing.T) {
	t.Parallel()
	games, moves, _ := opened(t)
	var all sync.WaitGroup
	var refused atomic.Int32
	for range explore.MostMoves + 1 {
		all.Go(func() {
			if games.Press(t.Context(), locks()[0], "…") != nil {
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if made := len(explore.Moves(moves())); made != explore.MostMoves || refused.Load() != 1 {
		t.Errorf("%d moves are made, and %d refused", made, refused.Load())
	}
}

// The game that was not used for the longest time is closed when too many are open. It begins again when it is used.
func TestTheOldestGameIsClosed(t *testing.T) {
	t.Parallel()
	games, moves, closed := opened(t)
	all := locks()
	for _, l := range all[:steps.MostGames] {
		if err := games.Press(t.Context(), l, "A"); err != nil {
			t.Fatal(err)
		}
	}
	if err := games.Press(t.Context(), all[0], "B"); err != nil || len(closed()) > 0 {
		t.Fatalf("%v, and %v were closed", err, closed())
	}
	if err := games.Open(all[steps.MostGames]); err != nil {
		t.Fatal(err)
	}
	if got := closed(); !slices.Equal(got, []string{all[1].Key()}) {
		t.Errorf("closed: %v, want %s", got, all[1].Key())
	}
	if err := games.Open(all[0]); err != nil || moves() != "A B" {
		t.Errorf("the game that was used has the moves %q: %v", moves(), err)
	}
	if err := games.Open(all[1]); err != nil || moves() != "" {
		t.Errorf("the game that was closed has the moves %q: %v", moves(), err)
	}
}
