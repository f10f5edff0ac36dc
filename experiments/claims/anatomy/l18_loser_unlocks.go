package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/articlelock"
)

var L18 = experiments.Experiment{
	ID:       "L18-loser-unlocks",
	Articles: experiments.Articles{"A3"},
	Claim:    "A refused client that unlocks by DEL in its finally block deletes the holder's lock.",
	Level:    experiments.Basic,
	Anomaly:  "unlock by a non-owner",
	Schedule: experiments.Schedule{Takes: time.Second},
	Check:    history.Counter,
	Interleavings: []experiments.Interleavings{
		{Lock: articlelock.PlainDEL, Bounds: steps.Bounds{Clients: "ABC"}, Violation: steps.NonOwnerUnlock},
		{Lock: articlelock.ScriptInFinally, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{
			Lock: articlelock.UnlockInFinally, Bounds: steps.Bounds{Clients: "AB"},
			Violation: steps.NonOwnerUnlock, Expect: experiments.Sometimes,
		},
	},
	Variants: []experiments.Variant{
		{Name: "unlock only after success", Run: clients.Interleaving(articlelock.PlainDEL, refusedBetween)},
		{Name: "in finally, by script", Run: clients.Interleaving(articlelock.ScriptInFinally, refusedBetween)},
		{
			Name: "in finally, by DEL", Expect: experiments.Sometimes,
			Run: clients.Interleaving(articlelock.UnlockInFinally, refusedBetween),
		},
	},
}

// refusedBetween lets B be refused and do what follows from that, and C request the lock, while A has read and not written.
const refusedBetween = "A A B B C C A C A C C"
