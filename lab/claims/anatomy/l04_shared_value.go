package anatomy

import (
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

var L04 = Experiments.Add(lab.Experiment{
	ID:       "L04-shared-value",
	Articles: lab.Articles{"A0", "A2"},
	Claim: `
		A value that two attempts share, such as the driver's id, lets one attempt release the other's lock although the release compares.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 2 * time.Second},
	Check:    history.Counter,
	Interleavings: []lab.Interleavings{
		{Lock: articlelock.Compare, Bounds: explore.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: explore.NonOwnerUnlock},
		{Lock: explore.V3, Bounds: explore.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: explore.NonOwnerUnlock},
		{
			Lock: articlelock.SharedValue, Bounds: explore.Bounds{Clients: "AB", Expiry: 1},
			Violation: explore.NonOwnerUnlock, Expect: lab.Sometimes,
		},
	},
	Variants: []lab.Variant{
		{Name: "a value for each attempt", Run: clients.Interleaving(articlelock.Compare, sameDriver)},
		{Name: "the driver's id", Expect: lab.Sometimes, Run: clients.Interleaving(articlelock.SharedValue, sameDriver)},
	},
})

// sameDriver lets A's lease end before it releases, while B holds the lock, and C try after it.
const sameDriver = "A A A … B A C B C B C B C"
