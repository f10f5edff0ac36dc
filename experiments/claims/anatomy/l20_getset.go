package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/articlelock"
)

var L20 = experiments.Experiment{
	ID:       "L20-getset",
	Articles: experiments.Articles{"A1"},
	Claim:    "A lock of SETNX and GETSET trusts its clients' clocks, and a refused client can leave it locked without a holder.",
	Level:    experiments.Medium,
	Schedule: experiments.Schedule{Takes: time.Second},
	Check:    clients.Any(history.Counter, clients.Noted(steps.LeftUntilExpiry.Mark())),
	Interleavings: []experiments.Interleavings{
		{Lock: articlelock.GetSet, Bounds: steps.Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, Violation: steps.Overwritten},
		{Lock: articlelock.GetSet, Bounds: steps.Bounds{Clients: "ABC", Expiry: 1}, Violation: steps.Overwritten, Expect: experiments.Sometimes},
		{Lock: articlelock.GetSetApart, Bounds: steps.Bounds{Clients: "AB"}, Violation: steps.LostUpdate, Expect: experiments.Sometimes},
	},
	Variants: []experiments.Variant{
		{Name: "one client sees it ended", Run: clients.Interleaving(articlelock.GetSet, "A A A† … B B B B B B B")},
		{
			Name: "two clients see it ended", Expect: experiments.Sometimes,
			Run: clients.Interleaving(articlelock.GetSet, "A A A† … B B C C B C B C B C B C C"),
		},
		{
			Name: "clocks an hour apart", Expect: experiments.Sometimes,
			Run: clients.Interleaving(articlelock.GetSetApart, "A A B B B B A B A A B B"),
		},
	},
}
