package claims

import (
	"context"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/history"
)

var _ = register(experiments.Experiment{
	ID:      "G5-losers-are-told",
	Article: "A2",
	Claim:   "Every driver who does not get the order is told so, and who has it; with A2's listing nobody is told anything.",
	Says:    "Who does not get the lock returns at once: the method that grabs the order returns null.",
	Erratum: "A2's form without waiting returns null to every loser at once. So does it to the winner: who has the order stands in a log.",
	Drawing: `
driver 1   SET NX → OK    …thinks…   the order is theirs   "null"
driver 2   SET NX → nil   "null"                            neither of them knows`,
	How:   "20 drivers want one order at the same moment: at each version of the app, one order after the other, and at a small server that does what A2's listing does.",
	Takes: 4 * time.Second,
	Check: untold,
	Variants: []experiments.Variant{
		{Name: "v0 to v4", Run: grabsOfAll},
		{Name: "A2's listing", Expect: experiments.Sometimes, Run: grabsOfListing},
	},
})

// untold finds the drivers who got an answer that does not say who has the order.
func untold(events []history.Event) []history.Violation {
	return explained(events, history.Noted(events, burst.ToldNothing))
}

// grabsOfAll asks all versions, each for an order of its own.
func grabsOfAll(ctx context.Context, t *experiments.Trial) error {
	s := service{version: "v4"} // with what it needs, there are all
	target, err := s.start(ctx, t)
	if err != nil {
		return err
	}
	for _, claim := range burst.Versions() {
		t.Note("lab", fmt.Sprintf("%s: %s", claim.Name, claim.Lock))
		s.version = claim.Name
		if err := s.grab(ctx, t, target); err != nil {
			return fmt.Errorf("%s: %w", claim.Name, err)
		}
	}
	return nil
}
