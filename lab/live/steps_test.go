package live

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"locklab/lab"
	"locklab/lab/explore"
	"locklab/lockstrategy/articlelock"
)

// The first lock of L03 deletes the key without a comparison.
const (
	deletes     = "/ui/steps/L03/1"
	deletesPart = "steps-L03-foreign-unlock-1"
)

// press presses buttons of a play, each by its value.
func press(t *testing.T, address string, buttons ...string) {
	t.Helper()
	for _, b := range buttons {
		if status, body := do(t, http.MethodPost, address, url.Values{"do": {b}}, nil); status != http.StatusOK {
			t.Fatalf("%s: %d %s", b, status, body)
		}
	}
}

// Two browsers move the same play: each sees what the clients believe, what Redis stores, and what happened.
func TestTwoBrowsersMoveTheSamePlay(t *testing.T) {
	t.Parallel()
	_, base := serving(t)
	get(t, base+deletes)
	first, second := looks(t, base, deletesPart), looks(t, base, deletesPart)
	press(t, base+deletes, "A")
	seen := first.until(deletesPart, "<b>A</b> holds the lock", "B: its next command is SET NX PX", "attempt-A", "No violation so far")
	if other := second.until(deletesPart, "holds the lock"); other != seen {
		t.Error("two browsers see different plays")
	}
	if late := looks(t, base, deletesPart).until(deletesPart); late != seen {
		t.Error("a browser that comes late sees another play")
	}
	press(t, base+deletes, "A†", "…")
	first.until(deletesPart, "<b>A</b> dead", "There is no key.")
	press(t, base+deletes, "back")
	first.until(deletesPart, "<b>A</b> dead", "<td>lock</td>")
	press(t, base+deletes, "restart")
	first.until(deletesPart, "<b>A</b> wants the lock", "There is no key.")
	press(t, base+deletes, "ABC")
	first.until(deletesPart, "<b>C</b> wants the lock", "Restart with 2 clients")
}

// The shortest violation is replayed one move per press. Other moves leave the list, and a move taken back leads to it again.
func TestTheShortestViolationIsReplayed(t *testing.T) {
	t.Parallel()
	_, base := serving(t)
	looker := looks(t, base, deletesPart)
	press(t, base+deletes, "ABC", "B", "shortest")
	looker.until(deletesPart, "a client deleted another client&#39;s lock", ": violation in ", "6 left")
	press(t, base+deletes, "next", "next")
	looker.until(deletesPart, "4 left")
	press(t, base+deletes, "B†")
	looker.until(deletesPart, "do not continue from here")
	if status, page := do(t, http.MethodPost, base+deletes, url.Values{"do": {"next"}}, nil); status != http.StatusBadRequest {
		t.Errorf("a move that is not of the list: %d %s", status, page)
	}
	press(t, base+deletes, "back", "next", "next", "next", "next")
	looker.until(deletesPart, "Violation: a client deleted another client&#39;s lock.")
	press(t, base+deletes, "ABC") // the list is one of two clients
	looker.until(deletesPart, "<b>C</b>", "Press S to search")
}

// Moves that were taken back can be made again, one by one or up to a moment of the list, until another move is made.
func TestMovesThatWereTakenBackAreMadeAgain(t *testing.T) {
	t.Parallel()
	s, base := serving(t)
	looker := looks(t, base, deletesPart)
	made := func(want string) {
		t.Helper()
		if got := explore.Text(s.games[0].Moves()); got != want {
			t.Errorf("the moves are %q, want %q", got, want)
		}
	}
	press(t, base+deletes, "A", "A", "B", "…", "back", "back")
	looker.until(deletesPart, "2 left")
	made("A A")
	press(t, base+deletes, "next")
	made("A A B")
	press(t, base+deletes, "to 4")
	made("A A B …")
	press(t, base+deletes, "to 1")
	made("A")
	looker.until(deletesPart, "3 left")
	if status, page := do(t, http.MethodPost, base+deletes, url.Values{"do": {"to 5"}}, nil); status != http.StatusBadRequest ||
		!strings.Contains(page, "choose from 0 to 4") {
		t.Errorf("to a move that there is not: %d %s", status, page)
	}
	press(t, base+deletes, "to 0", "A", "A", "A†", "restart", "next", "next", "next")
	made("A A A†")
	press(t, base+deletes, "restart", "A", "A†") // another way
	if status, _ := do(t, http.MethodPost, base+deletes, url.Values{"do": {"next"}}, nil); status != http.StatusBadRequest {
		t.Error("a move of the old way is made:", status)
	}
	press(t, base+deletes, "back", "next")
	made("A A†")
	press(t, base+deletes, "AB")
	made("")
}

// The page says that every interleaving is tried. Pressed again meanwhile, the button begins no second search.
func TestASearchIsShownAndDoneOnce(t *testing.T) {
	t.Parallel()
	var searches atomic.Int32
	begun, goOn := make(chan struct{}), make(chan struct{})
	slow := articlelock.Lock{Name: "slow", Acquire: []articlelock.Step{{Name: "SET", Command: func(c *articlelock.Client) []any {
		if searches.Add(1) == 1 {
			close(begun)
			<-goOn
		}
		return []any{"SET", articlelock.Key, c.Value}
	}}}}
	e := lab.Experiment{ID: "X4-slow", Interleavings: []lab.Interleavings{
		{Lock: slow, Bounds: explore.Bounds{Clients: "A"}, Violation: explore.OrphanedLock, Expect: lab.Sometimes},
	}}
	_, base := serving(t, e)
	looker := looks(t, base, "steps-X4-slow-1")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = do(t, http.MethodPost, base+"/ui/steps/X4/1", url.Values{"do": {"shortest"}}, nil)
	}()
	<-begun
	looker.until("steps-X4-slow-1", "Every interleaving is tried.")
	press(t, base+"/ui/steps/X4/1", "shortest")
	if n := searches.Load(); n != 1 {
		t.Errorf("%d searches have begun", n)
	}
	close(goOn)
	<-ended
	if found := looker.until("steps-X4-slow-1", "3 left"); strings.Contains(found, "<b>B</b>") {
		t.Error("the list is played with other clients than it was found with")
	}
}

// Presses that arrive simultaneously are done one after the other, and a play is bounded.
func TestPressesAreDoneOneAfterTheOther(t *testing.T) {
	t.Parallel()
	s, base := serving(t)
	get(t, base+deletes)
	const presses = 6
	for range explore.MostMoves + 1 - presses {
		if _, err := s.games[0].Move(t.Context(), explore.Move{}); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	var refused atomic.Int32
	for range presses {
		all.Go(func() {
			if status, _ := do(t, http.MethodPost, base+deletes, url.Values{"do": {"…"}}, nil); status != http.StatusOK {
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if made := len(s.games[0].Moves()); made != explore.MostMoves || refused.Load() != 1 {
		t.Errorf("%d moves are made, and %d refused", made, refused.Load())
	}
}

// Bad input is answered with what to do, and changes nothing.
func TestAMoveThatIsImpossibleChangesNothing(t *testing.T) {
	t.Parallel()
	s, base := serving(t)
	press(t, base+deletes, "A", "B")
	before := s.board.get(deletesPart, viewer{})
	for _, c := range []struct {
		method, path, do string
		status           int
		says             string
	}{
		{http.MethodGet, "/ui/steps/L05/1", "", http.StatusNotFound, "has no lock that is a list of steps. These have: L01-no-expiry"},
		{http.MethodGet, "/ui/steps/L03/5", "", http.StatusNotFound, "L03-foreign-unlock has the locks 1 to 4."},
		{http.MethodPost, deletes, "", http.StatusBadRequest, "is not one move. Nothing has changed: press another button"},
		{http.MethodPost, deletes, "jump", http.StatusBadRequest, "is no move: A lets client A do its next step"},
		{http.MethodPost, deletes, "C", http.StatusBadRequest, "C is not possible: there is no client C. Nothing has changed"},
		{http.MethodPost, deletes, "next", http.StatusBadRequest, "No list of moves goes on here"},
	} {
		if status, body := do(t, c.method, base+c.path, url.Values{"do": {c.do}}, nil); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s %q: %d %s", c.method, c.path, c.do, status, body)
		}
	}
	if s.board.get(deletesPart, viewer{}) != before {
		t.Error("a refused press has changed the play")
	}
	press(t, base+deletes, "back", "back")
	if status, page := do(t, http.MethodPost, base+deletes, url.Values{"do": {"back"}}, nil); status != http.StatusBadRequest ||
		!strings.Contains(page, "There is no move to take back.") {
		t.Errorf("no move to take back: %d %s", status, page)
	}
}

// The play that was not used for the longest time is closed when too many are open. Its page says so, and begins again.
func TestTheOldestPlayIsClosed(t *testing.T) {
	t.Parallel()
	s, base := serving(t)
	var addresses []string
	for _, e := range s.cfg.Catalogue {
		for i := range e.Locks() {
			addresses = append(addresses, fmt.Sprintf("%s/ui/steps/%s/%d", base, e.ID, i+1))
		}
	}
	get(t, addresses[0])
	get(t, addresses[1])
	first, second := s.games[0], s.games[1]
	press(t, addresses[0], "A") // the first is used again
	for _, a := range addresses[2 : mostGames+1] {
		get(t, a)
	}
	closed := func(g *game) bool { _, err := g.Move(t.Context(), explore.Move{Client: "B"}); return err != nil }
	if len(s.games) != mostGames || closed(first) || !closed(second) {
		t.Errorf("%d plays are open; the first is closed: %v, the second: %v", len(s.games), closed(first), closed(second))
	}
	looks(t, base, second.Part()).until(second.Part(), "this one was closed", "Begin again")
	press(t, addresses[1], "restart")
	looks(t, base, second.Part()).until(second.Part(), "<b>A</b> wants the lock")
	last := s.games[len(s.games)-1]
	if s.endGames(); !closed(last) {
		t.Error("a play is open after the end")
	}
}
