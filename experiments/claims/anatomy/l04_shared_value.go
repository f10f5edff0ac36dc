package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/articlelock"
)

var L04 = experiments.Experiment{
	ID:       "L04-shared-value",
	Articles: experiments.Articles{"A0", "A2"},
	Claim: `
		A value that two attempts share, such as the driver's id, lets one attempt release the other's lock although the release compares.`,
	Level:    experiments.Medium,
	Schedule: experiments.Schedule{Takes: 2 * time.Second},
	Check:    history.Counter,
	Interleavings: []experiments.Interleavings{
		{Lock: articlelock.Compare, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{
			Lock: articlelock.SharedValue, Bounds: steps.Bounds{Clients: "AB", Expiry: 1},
			Violation: steps.NonOwnerUnlock, Expect: experiments.Sometimes,
		},
	},
	Variants: []experiments.Variant{
		{Name: "a value for each attempt", Run: clients.Interleaving(articlelock.Compare, sameDriver)},
		{Name: "the driver's id", Expect: experiments.Sometimes, Run: clients.Interleaving(articlelock.SharedValue, sameDriver)},
	},
}

// sameDriver lets A's lease end before it releases, while B holds the lock, and C try after it.
const sameDriver = "A A A … B A C B C B C B C"
