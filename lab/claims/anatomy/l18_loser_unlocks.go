package anatomy

import (
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

var L18 = Experiments.Add(lab.Experiment{
	ID:       "L18-loser-unlocks",
	Articles: lab.Articles{"A3"},
	Claim:    "A refused client that unlocks by DEL in its finally block deletes the holder's lock.",
	Level:    lab.Basic,
	Anomaly:  "unlock by a non-owner",
	Schedule: lab.Schedule{Takes: time.Second},
	Check:    history.Counter,
	Interleavings: []lab.Interleavings{
		{Lock: articlelock.PlainDEL, Bounds: explore.Bounds{Clients: "ABC"}, Violation: explore.NonOwnerUnlock},
		{Lock: articlelock.ScriptInFinally, Bounds: explore.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: explore.NonOwnerUnlock},
		{
			Lock: articlelock.UnlockInFinally, Bounds: explore.Bounds{Clients: "AB"},
			Violation: explore.NonOwnerUnlock, Expect: lab.Sometimes,
		},
	},
	Variants: []lab.Variant{
		{Name: "unlock only after success", Run: clients.Interleaving(articlelock.PlainDEL, refusedBetween)},
		{Name: "in finally, by script", Run: clients.Interleaving(articlelock.ScriptInFinally, refusedBetween)},
		{
			Name: "in finally, by DEL", Expect: lab.Sometimes,
			Run: clients.Interleaving(articlelock.UnlockInFinally, refusedBetween),
		},
	},
})

// refusedBetween lets B be refused and do what follows from that, and C request the lock, while A has read and not written.
const refusedBetween = "A A B B C C A C A C C"
