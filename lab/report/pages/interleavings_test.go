package pages

import (
	"context"
	"errors"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/explore"
	"locklab/lockstrategy/articlelock"
)

// A page says how many interleavings were tried and how many violate, and tells two rows of one lock apart.
func TestPagesSayWhatTheInterleavingsShow(t *testing.T) {
	e, _ := example()
	bounds := explore.Bounds{Clients: "AB", Expiry: 1}
	e.Interleavings = []lab.Interleavings{
		{Lock: articlelock.Compare, Bounds: bounds, Violation: explore.NonOwnerUnlock},
		{
			Lock: articlelock.Compare, Bounds: explore.Bounds{Clients: "AB", Lost: 1},
			Violation: explore.LeftUntilExpiry, Expect: lab.Sometimes,
		},
		{Lock: articlelock.PlainDEL, Bounds: bounds, Violation: explore.NonOwnerUnlock, Expect: lab.Sometimes},
	}
	made, err := All(t.Context(), []lab.Experiment{e}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"| SET NX PX, script | A B … | a client deleted another client's lock | " +
			"no violation in all 136 interleavings | no violation |",
		"| SET NX PX, script | A B ? | the lock stays until its lease ends, and no client holds it | " +
			"violation in 4 of 18 interleavings | violation |",
		"| SET NX PX, DEL | A B … | a client deleted another client's lock | " +
			"violation in 62 of 136 interleavings | violation |",
	} {
		if !strings.Contains(string(made[path(e.ID)]), says) {
			t.Errorf("the page does not say %q:\n%s", says, made[path(e.ID)])
		}
	}
}

// An interleaving that is not as expected prevents the pages, and every such lock is named.
func TestPagesAreNotMadeOfAContradiction(t *testing.T) {
	e, _ := example()
	b := explore.Bounds{Clients: "AB", Expiry: 1}
	e.Interleavings = []lab.Interleavings{
		{Lock: articlelock.PlainDEL, Bounds: b, Violation: explore.NonOwnerUnlock},
		{Lock: articlelock.Compare, Bounds: b, Violation: explore.NonOwnerUnlock, Expect: lab.Sometimes},
	}
	made, err := All(t.Context(), []lab.Experiment{e}, nil)
	if !errors.Is(err, ErrContradicted) || made != nil {
		t.Fatalf("%d pages, %v", len(made), err)
	}
	wantSays(
		t,
		err,
		"L03-foreign-unlock, SET NX PX, DEL: a client deleted another client's lock: expected is no violation, and it is violation in 62 of 136",
	)
	wantSays(t, err, "SET NX PX, script: a client deleted another client's lock: expected is violation, and it is no violation in all")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := All(stopped, []lab.Experiment{e}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
