package anatomy

import (
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

var L20 = Experiments.Add(lab.Experiment{
	ID:       "L20-getset",
	Articles: lab.Articles{"A1"},
	Claim:    "A lock of SETNX and GETSET trusts its clients' clocks, and a refused client can leave it locked without a holder.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: time.Second},
	Check:    clients.Any(history.Counter, clients.Noted(explore.LeftUntilExpiry.Mark())),
	Interleavings: []lab.Interleavings{
		{Lock: articlelock.GetSet, Bounds: explore.Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, Violation: explore.Overwritten},
		{Lock: articlelock.GetSet, Bounds: explore.Bounds{Clients: "ABC", Expiry: 1}, Violation: explore.Overwritten, Expect: lab.Sometimes},
		{Lock: articlelock.GetSetApart, Bounds: explore.Bounds{Clients: "AB"}, Violation: explore.LostUpdate, Expect: lab.Sometimes},
	},
	Variants: []lab.Variant{
		{Name: "one client sees it ended", Run: clients.Interleaving(articlelock.GetSet, "A A A† … B B B B B B B")},
		{
			Name: "two clients see it ended", Expect: lab.Sometimes,
			Run: clients.Interleaving(articlelock.GetSet, "A A A† … B B C C B C B C B C B C C"),
		},
		{
			Name: "clocks an hour apart", Expect: lab.Sometimes,
			Run: clients.Interleaving(articlelock.GetSetApart, "A A B B B B A B A A B B"),
		},
	},
})
