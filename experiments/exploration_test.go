package experiments_test

import (
	"slices"
	"strings"
	"testing"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/experiments/steps"
	"locklab/lockstrategy/naive"
)

// A violation that must not happen is unexpected, and the worst verdict is the exploration's.
func TestAnExplorationIsJudged(t *testing.T) {
	e, err := claims.All().Find("L03")
	if err != nil {
		t.Fatal(err)
	}
	e.Interleavings = slices.Clone(e.Interleavings[len(e.Interleavings)-1:])
	e.Interleavings[0].Expect = experiments.Never // although it violates
	x, err := e.ExploreAll(t.Context(), func(b steps.Bounds) steps.Bounds { return b }, func(experiments.Exploring) {})
	if err != nil || x.Verdict == nil || *x.Verdict != experiments.Unexpected || *x.Locks[0].Verdict != experiments.Unexpected {
		t.Errorf("%+v, %v", x, err)
	}
}

// An experiment without steps is refused, and the error names those that have some.
func TestWithoutSteps(t *testing.T) {
	with := experiments.Experiment{ID: "L1", Interleavings: make([]experiments.Interleavings, 1)}
	without := experiments.Experiment{ID: "L2"}
	all := []experiments.Experiment{with, without}
	if err := with.WithSteps(all); err != nil {
		t.Error(err)
	}
	const want = "L2 has no lock that is a list of steps. These have: L1"
	if err := without.WithSteps(all); err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// lockOf finds an experiment, and one of its locks.
func lockOf(t *testing.T, id, name string) (experiments.Experiment, naive.Lock) {
	t.Helper()
	e, err := claims.All().Find(id)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := e.Lock(name)
	if err != nil {
		t.Fatal(err)
	}
	return e, lock
}

// The shortest violation is looked for where one is expected first. A lock without one was tried for each violation.
func TestTheShortestViolation(t *testing.T) {
	for _, c := range []struct {
		id, lock, moves string
		searches        int
	}{
		{"L03", "SET NX PX, DEL", "A A A … B A B B B", 1},
		{"L20", "SETNX, GETSET", "A A A A B C … B C A B C", 1}, // of two explorations the one that violates
		{"L12", "compensated by script", "", 2},
	} {
		e, lock := lockOf(t, c.id, c.lock)
		searched, err := e.Shortest(t.Context(), lock)
		if err != nil || len(searched) != c.searches {
			t.Fatalf("%s, %s: %d searches, %v", c.id, c.lock, len(searched), err)
		}
		if found := steps.Text(searched[len(searched)-1].Found.Counterexample); found != c.moves {
			t.Errorf("%s, %s: %q", c.id, c.lock, found)
		}
	}
}

// A goal names the violations that are expected of a lock, each once. A lock without one names what must not happen.
func TestTheGoalOfALock(t *testing.T) {
	for _, c := range []struct {
		id, lock   string
		goal       []steps.Violation
		impossible bool
	}{
		{"L03", "SET NX PX, DEL", []steps.Violation{steps.NonOwnerUnlock}, false},
		{"L20", "SETNX, GETSET", []steps.Violation{steps.Overwritten}, false}, // an exploration with other bounds finds none
		{"L12", "compensated by script", []steps.Violation{steps.LeftUntilExpiry, steps.NonOwnerUnlock}, true},
	} {
		e, lock := lockOf(t, c.id, c.lock)
		if goal, impossible := e.Goal(lock); !slices.Equal(goal, c.goal) || impossible != c.impossible {
			t.Errorf("%s, %s: %q, %v", c.id, c.lock, goal, impossible)
		}
	}
	e := experiments.Experiment{Interleavings: []experiments.Interleavings{
		{Violation: steps.LostUpdate, Expect: experiments.Never}, {Violation: steps.Overwritten, Expect: experiments.Sometimes},
	}}
	if goal, impossible := e.Goal(naive.Lock{}); !slices.Equal(goal, []steps.Violation{steps.Overwritten}) || impossible {
		t.Errorf("with two expectations the goal is %q, %v", goal, impossible)
	}
}

// A lock is found by its name, by a part that no other name has, and without a name it is the first. Otherwise the error has all names.
func TestALockIsFoundByAPartOfItsName(t *testing.T) {
	locks := []experiments.Interleavings{{Lock: naive.Compare}, {Lock: naive.PlainDEL}, {Lock: naive.SETNX}}
	e := experiments.Experiment{ID: "L99-example", Interleavings: locks}
	for name, want := range map[string]string{
		"": naive.Compare.Name, strings.ToLower(naive.SETNX.Name): naive.SETNX.Name, "script": naive.Compare.Name, "px, del": naive.PlainDEL.Name,
	} {
		if l, err := e.Lock(name); err != nil || l.Name != want {
			t.Errorf("%q: %q, %v; want %q", name, l.Name, err, want)
		}
	}
	for _, name := range []string{"set nx", "nothing like it"} {
		if l, err := e.Lock(name); err == nil || !strings.Contains(err.Error(), naive.PlainDEL.Name) {
			t.Errorf("%q: %q, %v", name, l.Name, err)
		}
	}
}
