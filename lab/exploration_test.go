package lab_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

// playsAll is a variant that plays every interleaving. Of three the last two violate.
func playsAll(_ context.Context, t *lab.Trial) {
	for i, moves := range []string{"A B B", "B A B", "B B A"} {
		t.Record(history.Event{Kind: history.Note, Name: history.Interleaving, Text: moves})
		if t.Note("A", "acts in "+moves); i > 0 {
			t.Mark("A", explore.LostUpdate.Mark())
		}
	}
}

// Each lock is judged by all its interleavings, with the shortest violation, and the worst verdict counts. Progress is told before each.
func TestAnExplorationIsJudged(t *testing.T) {
	bounds := explore.Bounds{Clients: "AB", Expiry: 1}
	e := lab.Experiment{
		ID: "X01-test", Check: func(events []history.Event) []history.Violation {
			return history.Noted(events, explore.LostUpdate.Mark())
		},
		Interleavings: []lab.Interleavings{
			{Lock: articlelock.Compare, Bounds: bounds, Violation: explore.NonOwnerUnlock},
			{Lock: articlelock.PlainDEL, Bounds: bounds, Violation: explore.NonOwnerUnlock}, // although it violates
		},
		Variants: []lab.Variant{
			{Name: "other"}, {Name: "played", Expect: lab.Sometimes, Every: explore.LostUpdate, Run: playsAll},
		},
	}
	var told, locks []string
	x, err := e.ExploreAll(t.Context(), func(b explore.Bounds) explore.Bounds { return b }, func(now lab.Exploring) {
		told = append(told, fmt.Sprintf("%d of %d: %s", now.Number, now.All, now))
	})
	if err != nil || x.Verdict == nil || *x.Verdict != lab.Unexpected {
		t.Fatalf("%+v, %v", x, err)
	}
	for _, l := range x.Locks {
		words := fmt.Sprintf("%s: %s: %s", l.Lock, l.Found, l.Verdict)
		if l.Shortest != "" {
			words += fmt.Sprintf(": %s: %s", l.Shortest, l.Events[len(l.Events)-1].Summary())
		}
		locks = append(locks, words)
	}
	for _, c := range []struct{ got, want []string }{
		{told, []string{
			"1 of 3: every interleaving of SET NX PX, script", "2 of 3: every interleaving of SET NX PX, DEL; 136 tried so far",
			"3 of 3: every interleaving of played; 272 tried so far",
		}},
		{locks, []string{
			"SET NX PX, script: no violation in all 136 interleavings: as expected",
			"SET NX PX, DEL: violation in 62 of 136 interleavings: unexpected: A A A … B A B B B: final 2",
			"played: violation in 2 of 3 interleavings: as expected: B A B: acts in B A B",
		}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// The absence of a violation is claimed for fewer clients and faults, too. A violation is claimed for more.
func TestTheBoundsOfAClaim(t *testing.T) {
	bounds := func(clients string, deaths, expiry, lost int) explore.Bounds {
		return explore.Bounds{Clients: clients, Deaths: deaths, Expiry: expiry, Lost: lost}
	}
	e := lab.Experiment{Interleavings: []lab.Interleavings{
		{Lock: articlelock.SETNX, Bounds: bounds("AB", 1, 1, 1), Violation: explore.LostUpdate},
		{Lock: articlelock.SETNX, Bounds: bounds("AB", 1, 1, 1), Violation: explore.OrphanedLock, Expect: lab.Sometimes},
	}}
	for asked, claimed := range map[explore.Bounds][2]bool{
		bounds("AB", 1, 1, 1): {true, true}, bounds("A", 1, 1, 1): {true, false}, bounds("ABC", 0, 0, 0): {false, false},
		bounds("AB", 0, 1, 1): {true, false}, bounds("AB", 2, 1, 1): {false, true},
		bounds("AB", 1, 0, 1): {true, false}, bounds("AB", 1, 2, 1): {false, true},
		bounds("AB", 1, 1, 0): {true, false}, bounds("AB", 1, 1, 2): {false, true},
	} {
		x, err := e.ExploreAll(t.Context(), func(explore.Bounds) explore.Bounds { return asked }, func(lab.Exploring) {})
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{x.Locks[0].Verdict != nil, x.Locks[1].Verdict != nil}; got != claimed {
			t.Errorf("%+v: claimed %v, want %v", asked, got, claimed)
		}
	}
}

// searchedFor has a lock that violates within one of its bounds, and one that never does.
var searchedFor = lab.Experiment{ID: "X01-test", Interleavings: []lab.Interleavings{
	{Lock: articlelock.PlainDEL, Bounds: explore.Bounds{Clients: "AB"}, Violation: explore.LostUpdate},
	{Lock: articlelock.PlainDEL, Bounds: explore.Bounds{Clients: "AB", Expiry: 1}, Violation: explore.NonOwnerUnlock, Expect: lab.Sometimes},
	{Lock: articlelock.Compare, Bounds: explore.Bounds{Clients: "AB"}, Violation: explore.OrphanedLock},
	{Lock: articlelock.Compare, Bounds: explore.Bounds{Clients: "AB"}, Violation: explore.NonOwnerUnlock},
}}

// The shortest violation is looked for where one is expected first, and that is the goal of a person who moves the clients. A lock without
// one was tried for each violation, and its goal is impossible.
func TestTheShortestViolationIsTheGoalOfALock(t *testing.T) {
	for _, c := range []struct {
		lock       articlelock.Lock
		moves      string
		searches   int
		goal       []explore.Violation
		impossible bool
	}{
		{articlelock.PlainDEL, "A A A … B A B B B", 1, []explore.Violation{explore.NonOwnerUnlock}, false},
		{articlelock.Compare, "", 2, []explore.Violation{explore.OrphanedLock, explore.NonOwnerUnlock}, true},
	} {
		searched, err := explore.Shortest(t.Context(), c.lock, searchedFor.Searches(c.lock))
		if err != nil || len(searched) != c.searches {
			t.Fatalf("%s: %d searches, %v", c.lock.Name, len(searched), err)
		}
		if found := explore.Text(searched[len(searched)-1].Found.Counterexample); found != c.moves {
			t.Errorf("%s: %q", c.lock.Name, found)
		}
		if goal, impossible := explore.Goal(searchedFor.Searches(c.lock)); !slices.Equal(goal, c.goal) || impossible != c.impossible {
			t.Errorf("%s: %q, %v", c.lock.Name, goal, impossible)
		}
	}
}

// An exploration that was cut short is an error: what was tried until then proves nothing.
func TestAnExplorationThatIsCutShort(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	bounded := func(b explore.Bounds) explore.Bounds { return b }
	if x, err := searchedFor.ExploreAll(ended, bounded, func(lab.Exploring) {}); !errors.Is(err, context.Canceled) || x != nil {
		t.Errorf("all locks: %+v, %v", x, err)
	}
	searched, err := explore.Shortest(ended, articlelock.PlainDEL, searchedFor.Searches(articlelock.PlainDEL))
	if !errors.Is(err, context.Canceled) || searched != nil {
		t.Errorf("the shortest violation: %+v, %v", searched, err)
	}
}

// A variant that plays every interleaving proves nothing when its check or its trial fails.
func TestPlayedInterleavingsThatProveNothing(t *testing.T) {
	for says, spoil := range map[string]func(e *lab.Experiment){
		"makes no sense: no such event": func(e *lab.Experiment) {
			e.Check = func([]history.Event) []history.Violation { panic("no such event") }
		},
		"no server": func(e *lab.Experiment) {
			e.Variants[1].Run = func(_ context.Context, t *lab.Trial) { t.Must(errors.New("no server")) }
		},
	} {
		e := lab.Experiment{
			ID: "X01-test", Check: func(events []history.Event) []history.Violation { return nil },
			Variants: []lab.Variant{{Name: "other"}, {Name: "played", Every: explore.LostUpdate, Run: playsAll}},
		}
		spoil(&e)
		bounded := func(b explore.Bounds) explore.Bounds { return b }
		x, err := e.ExploreAll(t.Context(), bounded, func(lab.Exploring) {})
		if err == nil || !strings.Contains(err.Error(), says) || x != nil {
			t.Errorf("%+v, %v; want %q", x, err, says)
		}
	}
}

// A lock is found by its name, by a part that no other name has, and without a name it is the first. Otherwise the error has all names.
func TestALockIsFoundByAPartOfItsName(t *testing.T) {
	locks := []lab.Interleavings{{Lock: articlelock.Compare}, {Lock: articlelock.PlainDEL}, {Lock: articlelock.SETNX}}
	e := lab.Experiment{ID: "L99-example", Interleavings: locks}
	for name, want := range map[string]string{
		"": articlelock.Compare.Name, strings.ToLower(articlelock.SETNX.Name): articlelock.SETNX.Name,
		"script": articlelock.Compare.Name, "px, del": articlelock.PlainDEL.Name,
	} {
		if l, err := e.Lock(name); err != nil || l.Name != want {
			t.Errorf("%q: %q, %v; want %q", name, l.Name, err, want)
		}
	}
	for _, name := range []string{"set nx", "nothing like it"} {
		if l, err := e.Lock(name); err == nil || !strings.Contains(err.Error(), articlelock.PlainDEL.Name) {
			t.Errorf("%q: %q, %v", name, l.Name, err)
		}
	}
	if l, err := (lab.Experiment{ID: "L98-none"}).Lock(""); err == nil {
		t.Errorf("an experiment without locks has %q", l.Name)
	}
}
