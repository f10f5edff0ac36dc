package steps_test

import (
	"slices"
	"strings"
	"testing"

	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

// Moves are read in both spellings, and written in one.
func TestMoves(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "A": "A", " A  B ": "A B", "A! B†": "A† B†", "B? A": "B? A", "t ... …": "… … …",
	} {
		moves, err := steps.Parse(text)
		if err != nil || steps.Text(moves) != want {
			t.Errorf("%q is %q, %v; want %q", text, steps.Text(moves), err, want)
		}
		if got := steps.Text(steps.Moves(text)); got != want {
			t.Errorf("as a part of the program %q is %q, want %q", text, got, want)
		}
	}
	if got := steps.Names(steps.Moves("C A … A†")); got != "AC" {
		t.Errorf("the clients are %q, want AC", got)
	}
}

func TestMovesThatAreNone(t *testing.T) {
	for _, text := range []string{"a", "AB", "A B1", "†", "A††", "?", "1", "A …t"} {
		if moves, err := steps.Parse(text); err == nil || !strings.Contains(err.Error(), "is no move: A lets client A do its next step") {
			t.Errorf("%q is %q, %v", text, steps.Text(moves), err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a move of the program that is none is accepted")
		}
	}()
	steps.Moves("nothing")
}

// begun is a play after some moves.
func begun(t *testing.T, moves string) *steps.Play {
	t.Helper()
	p, err := steps.NewPlay(naive.PlainDEL, "AB")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	for _, m := range steps.Moves(moves) {
		if _, err := p.Move(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// A play knows its moves and those that are possible. An impossible move changes nothing.
func TestAPlayKnowsItsMoves(t *testing.T) {
	lose := steps.Move{Client: "A", Lose: true}
	if p := begun(t, ""); !p.Can(lose) || p.Can(steps.Move{Client: "C"}) || p.Names() != "AB" {
		t.Error("at the beginning A can lose a reply, and there is no C")
	}
	p := begun(t, "A B")
	if _, err := p.Move(t.Context(), lose); err == nil || !strings.HasPrefix(err.Error(), "A? is not possible: ") || p.Can(lose) {
		t.Errorf("only the reply to an acquire can be lost: %v", err)
	}
	if !p.TakeBack() || steps.Text(p.Moves()) != "A" {
		t.Errorf("the moves are %q", steps.Text(p.Moves()))
	}
	happened, err := p.Move(t.Context(), steps.Move{Client: "A"})
	if says := (steps.Move{Client: "A"}).Says(happened); err != nil || says != "GET counter → (nil); read 0" {
		t.Errorf("%q, %v", says, err)
	}
	if over := begun(t, "A† B†"); over.Can(steps.Move{}) || over.Can(steps.Move{Client: "A"}) {
		t.Error("a move is possible after the end")
	}
}

// The note that time passes names the lock only if its lease ends there: a key of SETNX has none, and a free lock neither.
func TestALeaseEndsWhenTimePasses(t *testing.T) {
	for moves, want := range map[string]bool{"A …": true, "A A A A …": false, "…": false} {
		if got := leaseEnds(t, naive.PlainDEL, moves); got != want {
			t.Errorf("%s: %v", moves, got)
		}
	}
	if leaseEnds(t, naive.SETNX, "A …") {
		t.Error("the key of SETNX has no expiry")
	}
	if !leaseEnds(t, naive.GetSet, "A …") {
		t.Error("by the clients' clocks the lock has ended")
	}
}

func leaseEnds(t *testing.T, lock naive.Lock, moves string) bool {
	t.Helper()
	events, _, err := steps.Replay(t.Context(), lock, "AB", steps.Moves(moves))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(events, func(e history.Event) bool { return e.Name == history.LeaseEnds && e.Key == naive.Key })
}

// The outcome names each violation, or says that there is none so far or at the end.
func TestTheOutcomeOfAPlay(t *testing.T) {
	for moves, want := range map[string]string{
		"A":               "No violation so far; not every client has ended.",
		"A A A … B A":     "Violation: a client deleted another client's lock.",
		"A† B†":           "Every client has ended, without a violation.",
		"A A … B B A B A": "Violation: an update is lost. Violation: a client deleted another client's lock.",
	} {
		if got := strings.Join(begun(t, moves).Outcome(), " "); got != want {
			t.Errorf("%s: %q, want %q", moves, got, want)
		}
	}
}
