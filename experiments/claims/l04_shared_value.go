package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

var _ = register(experiments.Experiment{
	ID:      "L04-shared-value",
	Article: "A0, A2",
	Claim: `
		A value that is not unique for each attempt, such as the driver's id, lets one attempt release another's lock although it compares.`,
	Says: `
		A2 stores the driver's id and calls it unique over all requests; A0's example stores 1. The comparison before the release then finds
		"its own" value in a lock that another attempt has taken.`,
	Errata: []experiments.Erratum{{Article: "A2", What: `
		A2's lock contains the driver's id, which is the same in each of one driver's requests. So the first one's late release deletes the
		second one's lock.`}},
	Drawing: `
A (driver 7)  SET "7" → OK   read 0  …                compare "7", DEL → 1 (B's lock)
B (driver 7)                     lease over   SET "7" → OK                        read 1, write 2
C                                                                     SET → OK    read 1, write 2`,
	How: `
		A and B are two attempts of one driver. A is slow; its lease ends; B takes the lock; A writes and releases. C takes the lock that A has
		deleted, and B and C write the same value.`,
	Takes: time.Second,
	Check: history.Counter,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.Compare, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{
			Lock: naive.SharedValue, Bounds: steps.Bounds{Clients: "AB", Expiry: 1},
			Violation: steps.NonOwnerUnlock, Expect: experiments.Sometimes,
		},
	},
	Variants: []experiments.Variant{
		{Name: "a value for each attempt", Run: kit.Interleaving(naive.Compare, sameDriver)},
		{Name: "the driver's id", Expect: experiments.Sometimes, Run: kit.Interleaving(naive.SharedValue, sameDriver)},
	},
})

// sameDriver lets A's lease end before it releases, while B holds the lock, and C try after it.
const sameDriver = "A A A … B A C B C B C B C"
