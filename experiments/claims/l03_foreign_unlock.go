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
	ID:      "L03-foreign-unlock",
	Article: "A0, A2, A3",
	Claim: `
		DEL, and a comparison in the client before it, delete the next holder's lock; a script that compares and deletes does not.`,
	Says: `
		After its lease a slow holder deletes a lock that another client holds by now. The articles' remedy is to compare the value first. A2
		compares in the client, in a command of its own.`,
	Errata: []experiments.Erratum{{Article: "A2", What: `
		A2 releases by GET, a comparison in the client, and DEL: two commands, so it can still delete another client's lock.`}},
	How: `
		A takes the lock and is slow; its lease ends; B takes the lock and reads. Now A releases "its" lock. C takes the lock that A has
		deleted, and B and C write the same value. For the comparison in the client, A is stopped between GET and DEL.`,
	Anomaly: "unlock by a non-owner",
	Takes:   2 * time.Second,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.Compare, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{Lock: naive.PlainDEL, Bounds: steps.Bounds{Clients: "AB", Expiry: 1}, Violation: steps.NonOwnerUnlock, Expect: experiments.Sometimes},
		{
			Lock: naive.CompareInClient, Bounds: steps.Bounds{Clients: "AB", Expiry: 1},
			Violation: steps.NonOwnerUnlock, Expect: experiments.Sometimes,
		},
	},
	Check: history.Counter,
	Variants: []experiments.Variant{
		{Name: "script", Strategy: "SET NX PX", Run: kit.Interleaving(naive.Compare, "A A A … B B A C C C B C B")},
		{
			Name: "DEL", Expect: experiments.Sometimes, Strategy: "SET NX PX, DEL",
			Run: kit.Interleaving(naive.PlainDEL, "A A A … B B A C C C B C B"),
		},
		{
			Name: "comparison in the client", Expect: experiments.Sometimes,
			Run: kit.Interleaving(naive.CompareInClient, "A A A A … B B A C C C B C C B B"),
		},
		{Name: "v3's scripts", Strategy: "v3", Run: kit.Interleaving(steps.V3, "A A A … B B A C C C B C B")},
	},
})
