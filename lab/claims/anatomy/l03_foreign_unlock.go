package anatomy

import (
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

var L03 = Experiments.Add(lab.Experiment{
	ID:       "L03-foreign-unlock",
	Articles: lab.Articles{"A0", "A2", "A3"},
	Claim: `
		A late DEL deletes the next holder's lock, even after a comparison in the client; one script that compares and deletes does not.`,
	Level:    lab.Medium,
	Start:    true,
	Anomaly:  "unlock by a non-owner",
	Schedule: lab.Schedule{Takes: 4 * time.Second},
	Check:    history.Counter,
	Interleavings: []lab.Interleavings{
		{Lock: articlelock.Compare, Bounds: explore.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: explore.NonOwnerUnlock},
		{Lock: explore.V3, Bounds: explore.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: explore.NonOwnerUnlock},
		{
			Lock: articlelock.PlainDEL, Bounds: explore.Bounds{Clients: "AB", Expiry: 1},
			Violation: explore.NonOwnerUnlock, Expect: lab.Sometimes,
		},
		{
			Lock: articlelock.CompareInClient, Bounds: explore.Bounds{Clients: "AB", Expiry: 1},
			Violation: explore.NonOwnerUnlock, Expect: lab.Sometimes,
		},
	},
	Variants: []lab.Variant{
		{Name: "script", Strategy: "SET NX PX", Run: clients.Interleaving(articlelock.Compare, "A A A … B B A C C C B C B")},
		{
			Name: "DEL", Expect: lab.Sometimes, Strategy: "SET NX PX, DEL",
			Run: clients.Interleaving(articlelock.PlainDEL, "A A A … B B A C C C B C B"),
		},
		{
			Name: "SETNX, whose key does not expire", Strategy: "naive SETNX",
			Run: clients.Interleaving(articlelock.SETNX, "A A A … B B A C C C B C B"),
		},
		{
			Name: "comparison in the client", Expect: lab.Sometimes,
			Run: clients.Interleaving(articlelock.CompareInClient, "A A A A … B B A C C C B C C B B"),
		},
		{Name: "v3's scripts", Strategy: "v3", Run: clients.Interleaving(explore.V3, "A A A … B B A C C C B C B")},
	},
})
