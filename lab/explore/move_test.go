package explore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

// Moves are read in both spellings, and written in one.
func TestMoves(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "A": "A", " A  B ": "A B", "A! B†": "A† B†", "B? A": "B? A", "t ... …": "… … …",
	} {
		moves, err := explore.Parse(text)
		if err != nil || explore.Text(moves) != want {
			t.Errorf("%q is %q, %v; want %q", text, explore.Text(moves), err, want)
		}
	}
	if got := explore.Names(explore.Moves("C A … A†")); got != "AC" {
		t.Errorf("the clients are %q, want AC", got)
	}
}

func TestMovesThatAreNone(t *testing.T) {
	for _, text := range []string{"a", "AB", "A B1", "†", "A††", "?", "1", "A …t"} {
		if moves, err := explore.Parse(text); err == nil || !strings.Contains(err.Error(), "is no move: A lets client A do its next step") {
			t.Errorf("%q is %q, %v", text, explore.Text(moves), err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a move of the program that is none is accepted")
		}
	}()
	explore.Moves("nothing")
}

// begun is a play after some moves.
func begun(t *testing.T, moves string) *explore.Play {
	t.Helper()
	return played(t, articlelock.PlainDEL, "AB", explore.Moves(moves))
}

// played is a play of a lock after some moves.
func played(t *testing.T, lock articlelock.Lock, clients string, moves []explore.Move) *explore.Play {
	t.Helper()
	p, err := explore.NewPlay(lock, clients)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	for _, m := range moves {
		if _, err := p.Move(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// A play knows its moves and those that are possible. An impossible move changes nothing.
func TestAPlayKnowsItsMoves(t *testing.T) {
	lose := explore.Move{Client: "A", Lose: true}
	p := begun(t, "")
	if !p.Can(lose) || p.Can(explore.Move{Client: "C"}) || p.Names() != "AB" {
		t.Error("at the beginning A can lose a reply, and there is no C")
	}
	happened, err := p.Move(t.Context(), lose)
	if says := lose.Says(happened); err != nil || says != "request; SET NX PX → the reply is lost; refuse "+history.Unavailable {
		t.Errorf("%q, %v", says, err)
	}
	p = begun(t, "A B")
	if _, err := p.Move(t.Context(), lose); err == nil || !strings.HasPrefix(err.Error(), "A? is not possible: ") || p.Can(lose) {
		t.Errorf("only the reply to an acquire can be lost: %v", err)
	}
	if !p.TakeBack() || explore.Text(p.Moves()) != "A" {
		t.Errorf("the moves are %q", explore.Text(p.Moves()))
	}
	happened, err = p.Move(t.Context(), explore.Move{Client: "A"})
	if says := (explore.Move{Client: "A"}).Says(happened); err != nil || says != "GET counter → (nil); read 0" {
		t.Errorf("%q, %v", says, err)
	}
	if over := begun(t, "A† B†"); over.Can(explore.Move{}) || over.Can(explore.Move{Client: "A"}) {
		t.Error("a move is possible after the end")
	}
}

// A client says where it is, from its first step to each of its ends.
func TestWhereAClientIs(t *testing.T) {
	for _, c := range []struct {
		lock        articlelock.Lock
		moves, want string
	}{
		{articlelock.PlainDEL, "", "wants the lock"},
		{articlelock.SETNXThenEXPIRE, "A", "is taking the lock"},
		{articlelock.PlainDEL, "A", "holds the lock"},
		{articlelock.PlainDEL, "A A A", "releases the lock, wrote 1"},
		{articlelock.Compare, "A A A … A", "done, wrote 1, not the owner"},
		{articlelock.PlainDEL, "B A", "refused"},
		{articlelock.UnlockInFinally, "B A", "was refused, and releases all the same"},
		{articlelock.Compare, "A?", "without a reply"},
		{articlelock.CompensatedByDEL, "A?", "got no reply, and compensates"},
		{articlelock.PlainDEL, "A A†", "dead"},
	} {
		if a := played(t, c.lock, "AB", explore.Moves(c.moves)).Clients()[0]; a.Where() != c.want {
			t.Errorf("%s, after %q A %s, want %q", c.lock.Name, c.moves, a.Where(), c.want)
		}
	}
}

// A play shows each key with its value and its expiry, and each field of a hash. A grant of v3 has a fencing token.
func TestWhatTheServerStores(t *testing.T) {
	text, hash := played(t, articlelock.PlainDEL, "A", explore.Moves("A A A")), played(t, articlelock.Redisson, "A", explore.Moves("A"))
	for _, c := range []struct {
		play *explore.Play
		want []explore.Stored
	}{
		{text, []explore.Stored{{Key: "counter", Value: "1", Expires: "never"}, {Key: "lock", Value: "attempt-A", Expires: "in 58s"}}},
		{hash, []explore.Stored{{Key: "lock", Value: "attempt-A: 1", Expires: "in 1m0s"}}},
	} {
		if got := c.play.Keys(); !slices.Equal(got, c.want) {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
	events := played(t, explore.V3, "A", explore.Moves("A")).Events()
	if last := events[len(events)-1]; last.Kind != history.Grant || last.Token == 0 {
		t.Errorf("the grant is %+v", last)
	}
}

// The note that time passes names the lock only if its lease ends there: a key of SETNX has none, and a free lock neither.
func TestALeaseEndsWhenTimePasses(t *testing.T) {
	for moves, want := range map[string]bool{"A …": true, "A A A A …": false, "…": false} {
		if got := leaseEnds(t, articlelock.PlainDEL, moves); got != want {
			t.Errorf("%s: %v", moves, got)
		}
	}
	if leaseEnds(t, articlelock.SETNX, "A …") {
		t.Error("the key of SETNX has no expiry")
	}
	if !leaseEnds(t, articlelock.GetSet, "A …") {
		t.Error("by the clients' clocks the lock has ended")
	}
}

func leaseEnds(t *testing.T, lock articlelock.Lock, moves string) bool {
	t.Helper()
	events, _, err := explore.Replay(t.Context(), lock, "AB", explore.Moves(moves))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(events, func(e history.Event) bool { return e.Name == history.LeaseEnds && e.Key == articlelock.Key })
}

// The outcome names each violation, or says that there is none so far or at the end.
func TestTheOutcomeOfAPlay(t *testing.T) {
	for moves, want := range map[string]string{
		"A":           "No violation so far; not every client has ended.",
		"A A A … B A": "Violation: a client deleted another client's lock. B held the lock, and A deleted it.",
		"A† B†":       "Every client has ended, without a violation.",
		"A A … B B A B A": "Violation: an update is lost. 2 clients have written the counter, and it shows 1. " +
			"Violation: a client deleted another client's lock. B held the lock, and A deleted it.",
	} {
		if got := strings.Join(begun(t, moves).Outcome(), " "); got != want {
			t.Errorf("%s: %q, want %q", moves, got, want)
		}
	}
	replaced := played(t, articlelock.SETWithoutNX, "AB", explore.Moves("A B")).Outcome()
	want := "Violation: a client overwrote another client's lock. A held the lock, and B replaced its key."
	if !slices.Equal(replaced, []string{want}) {
		t.Errorf("%q, want %q", replaced, want)
	}
}

// Moves end where a violation shows first. A client that is none is an error.
func TestUntilAViolationShows(t *testing.T) {
	for text, want := range map[string]string{"A A A … B A B B B": "A A A … B A", "A A A A": "A A A A", "A C": ""} {
		first, err := explore.Until(t.Context(), articlelock.PlainDEL, "AB", explore.Moves(text), explore.NonOwnerUnlock)
		if got := explore.Text(first); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// Only its holder is said to hold the lock.
func TestWhereAMistakenClientIs(t *testing.T) {
	p := begun(t, "A A … B")
	clients := p.Clients()
	a, b := p.Where(clients[0]), p.Where(clients[1])
	if a != "believes that it holds the lock, read 0" || b != "holds the lock" {
		t.Errorf("A %s, and B %s", a, b)
	}
}

// A client that works without the lock is mistaken, until its release has ended. One that was refused is not.
func TestAClientIsMistaken(t *testing.T) {
	for moves, want := range map[string][2]string{
		"":                {"", ""},
		"A":               {"", ""},
		"A …":             {"nobody holds it now", ""},
		"A … B":           {"B holds it now", ""},
		"A A A … B":       {"B holds it now", ""}, // before its DEL
		"A A A … B A":     {"", "nobody holds it now"},
		"A A A … B A B B": {"", "nobody holds it now"},
		"A† B":            {"", ""},
	} {
		p := begun(t, moves)
		clients := p.Clients()
		if got := [2]string{p.Mistaken(clients[0]), p.Mistaken(clients[1])}; got != want {
			t.Errorf("after %q A and B are mistaken: %q, want %q", moves, got, want)
		}
	}
	p := played(t, articlelock.UnlockInFinally, "AB", explore.Moves("A B"))
	if refused := p.Clients()[1]; p.Mistaken(refused) != "" || !strings.HasPrefix(refused.Where(), "was refused") {
		t.Errorf("B %s, and is mistaken: %q", refused.Where(), p.Mistaken(refused))
	}
	p = played(t, articlelock.GetSet, "ABC", explore.Moves("A … B C B C B C"))
	if a := p.Mistaken(p.Clients()[0]); a != "C has replaced its key" {
		t.Errorf("A is mistaken: %q, after C was refused", a)
	}
}

// Moves that were taken back can be made again, also after a restart. Other clients begin anew. A detour strays from a list.
func TestASessionGoesBackAndOn(t *testing.T) {
	s, err := explore.NewSession(articlelock.PlainDEL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	does := func(words, moves string, strays bool) {
		t.Helper()
		for what := range strings.FieldsSeq(words) {
			if err := s.Do(t.Context(), what); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if got := explore.Text(s.Moves()); got != moves || s.Strays() != strays {
			t.Errorf("after %q the moves are %q, want %q; they stray from the list: %t", words, got, moves, s.Strays())
		}
	}
	for what, says := range map[string]string{
		"back": "no move to take back", "next": "no list of moves", "nonsense": "is no move", "A B": "is not one move", "to 1": "from 0 to 0",
		"to -1": "is no place", "to x": "is no place",
	} {
		if err := s.Do(t.Context(), what); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", what, err, says)
		}
	}
	does("A B back", "A", false)
	does("next back back next next", "A B", false)
	does("A restart", "", false)
	does("next next next", "A B A", false)
	does("ABC", "", false)
	if err := s.Do(t.Context(), "next"); err == nil || s.Names() != "ABC" {
		t.Errorf("%s goes on with old moves: %v", s.Names(), err)
	}
	if err := s.Follow("AB", explore.Moves("A B A")); err != nil {
		t.Fatal(err)
	}
	does("next B", "A B", false)
	if s.Last != "B request; SET NX PX → (nil); refuse" {
		t.Errorf("the last move is %q", s.Last)
	}
	does("back", "A", false)
	if s.Last != "" {
		t.Errorf("after a move that was taken back the last one is %q", s.Last)
	}
	does("A", "A A", true)
	does("back next next", "A B A", false)
	if err := errors.Join(s.Do(t.Context(), "to 0"), s.Do(t.Context(), "to 3")); err != nil || s.Do(t.Context(), "to 4") == nil {
		t.Errorf("to the end of the list, and beyond it: %v", err)
	}
	does("", "A B A", false)
	if err := errors.Join(s.Do(t.Context(), "to 1"), s.Follow("ABC", nil)); err != nil {
		t.Fatal(err)
	}
	does("next", "A B", false) // of the moves that were taken back: there is no list any more
}

// A session ends with its last move, so that time cannot pass without end.
func TestASessionHasAnEnd(t *testing.T) {
	s, err := explore.NewSession(articlelock.PlainDEL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if !s.CanLose("A") || s.CanLose("C") {
		t.Errorf("it can lose a reply to A: %v, to C: %v", s.CanLose("A"), s.CanLose("C"))
	}
	for range explore.MostMoves {
		if err := s.Do(t.Context(), "…"); err != nil {
			t.Fatal(err)
		}
	}
	if s.Last != "… time: passes, until every expiry is over" {
		t.Errorf("the last move is %q", s.Last)
	}
	err = s.Do(t.Context(), "…")
	if err == nil || !strings.Contains(err.Error(), "the play has 60 moves") || len(s.Moves()) != explore.MostMoves {
		t.Errorf("one more: %v", err)
	}
	if err := s.Do(t.Context(), "A"); err == nil {
		t.Error("a client moves after the end")
	}
}

// After an error on the way to a moment nothing has changed.
func TestAWayThatCannotBeGoneChangesNothing(t *testing.T) {
	s, err := explore.NewSession(articlelock.PlainDEL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Follow("AB", explore.Moves("A A A† A B")); err != nil {
		t.Fatal(err)
	}
	if err := s.Do(t.Context(), "next"); err != nil {
		t.Fatal(err)
	}
	last := s.Last
	if err := s.Do(t.Context(), "to 5"); err == nil || explore.Text(s.Moves()) != "A" || s.Last != last {
		t.Errorf("after %v the moves are %q, and the last one is %q", err, explore.Text(s.Moves()), s.Last)
	}
	if err := s.Do(t.Context(), "to 3"); err != nil || explore.Text(s.Moves()) != "A A A†" {
		t.Errorf("after %v the moves are %q", err, explore.Text(s.Moves()))
	}
}
