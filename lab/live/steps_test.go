package live

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
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
	seen := first.until(deletesPart, "<b>A</b> holds the lock", "SET NX PX <kbd>B</kbd>", "attempt-A", "No violation so far")
	if other := second.until(deletesPart, "holds the lock"); other != seen {
		t.Error("two browsers see different plays")
	}
	if late := looks(t, base, deletesPart).until(deletesPart); late != seen {
		t.Error("a browser that comes late sees another play")
	}
	press(t, base+deletes, "A†", "…")
	first.until(deletesPart, "<b>A</b> dead", "There is no key.")
	press(t, base+deletes, "back")
	first.until(deletesPart, "<b>A</b> dead", "<b>lock</b>")
	press(t, base+deletes, "restart")
	first.until(deletesPart, "<b>A</b> wants the lock", "There is no key.")
	press(t, base+deletes, "ABC")
	first.until(deletesPart, "<b>C</b> wants the lock", "2 clients")
}

// The shortest violation is replayed one move per press. Other moves leave the list, and a move taken back leads to it again.
func TestTheShortestViolationIsReplayed(t *testing.T) {
	t.Parallel()
	_, base := serving(t)
	looker := looks(t, base, deletesPart)
	press(t, base+deletes, "ABC", "B", "shortest")
	looker.until(deletesPart, "a client deleted another client&#39;s lock", " of them, ", "6 left")
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
	if shown := looker.until(deletesPart, "<b>C</b>"); strings.Contains(shown, "The lab tried all") {
		t.Error("the list of other clients is still there")
	}
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
	looker.until("steps-X4-slow-1", "Trying every interleaving")
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

// The page of a play that was closed for another one says so, and begins again.
func TestAPlayThatWasClosedBeginsAgain(t *testing.T) {
	t.Parallel()
	s, base := serving(t)
	get(t, base+deletes)
	for _, e := range s.cfg.Catalogue {
		for i := range e.Locks() {
			if e.ID != "L03-foreign-unlock" {
				get(t, fmt.Sprintf("%s/ui/steps/%s/%d", base, e.ID, i+1))
			}
		}
	}
	looker := looks(t, base, deletesPart)
	looker.until(deletesPart, "this one was closed", "Begin again")
	press(t, base+deletes, "restart")
	looker.until(deletesPart, "<b>A</b> wants the lock")
}
