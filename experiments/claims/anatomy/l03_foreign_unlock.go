package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/articlelock"
)

var L03 = experiments.Experiment{
	ID:       "L03-foreign-unlock",
	Articles: experiments.Articles{"A0", "A2", "A3"},
	Claim: `
		A late DEL deletes the next holder's lock, even after a comparison in the client; one script that compares and deletes does not.`,
	Level:    experiments.Medium,
	Start:    true,
	Anomaly:  "unlock by a non-owner",
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    history.Counter,
	Interleavings: []experiments.Interleavings{
		{Lock: articlelock.Compare, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{
			Lock: articlelock.PlainDEL, Bounds: steps.Bounds{Clients: "AB", Expiry: 1},
			Violation: steps.NonOwnerUnlock, Expect: experiments.Sometimes,
		},
		{
			Lock: articlelock.CompareInClient, Bounds: steps.Bounds{Clients: "AB", Expiry: 1},
			Violation: steps.NonOwnerUnlock, Expect: experiments.Sometimes,
		},
	},
	Variants: []experiments.Variant{
		{Name: "script", Strategy: "SET NX PX", Run: clients.Interleaving(articlelock.Compare, "A A A … B B A C C C B C B")},
		{
			Name: "DEL", Expect: experiments.Sometimes, Strategy: "SET NX PX, DEL",
			Run: clients.Interleaving(articlelock.PlainDEL, "A A A … B B A C C C B C B"),
		},
		{
			Name: "SETNX, whose key does not expire", Strategy: "naive SETNX",
			Run: clients.Interleaving(articlelock.SETNX, "A A A … B B A C C C B C B"),
		},
		{
			Name: "comparison in the client", Expect: experiments.Sometimes,
			Run: clients.Interleaving(articlelock.CompareInClient, "A A A A … B B A C C C B C C B B"),
		},
		{Name: "v3's scripts", Strategy: "v3", Run: clients.Interleaving(steps.V3, "A A A … B B A C C C B C B")},
	},
}
