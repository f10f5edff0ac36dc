package anatomy

import (
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

var L10 = Experiments.Add(lab.Experiment{
	ID:       "L10-set-without-nx",
	Articles: lab.Articles{"A0", "A3"},
	Claim: `
		SET without NX grants the lock to every client, an extension by SET overwrites the next holder's lock, and an ignored refusal
		excludes nobody.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 4 * time.Second},
	Check:    history.Counter,
	Interleavings: []lab.Interleavings{
		{Lock: articlelock.Compare, Bounds: explore.Bounds{Clients: "ABC", Deaths: 1}, Violation: explore.LostUpdate},
		{Lock: explore.V3, Bounds: explore.Bounds{Clients: "ABC", Deaths: 1}, Violation: explore.LostUpdate},
		{Lock: articlelock.SETWithoutNX, Bounds: explore.Bounds{Clients: "AB"}, Violation: explore.LostUpdate, Expect: lab.Sometimes},
		{Lock: articlelock.IgnoredReply, Bounds: explore.Bounds{Clients: "AB"}, Violation: explore.LostUpdate, Expect: lab.Sometimes},
		{Lock: articlelock.Extend, Bounds: explore.Bounds{Clients: "ABC", Expiry: 1}, Violation: explore.Overwritten},
		{
			Lock: articlelock.ExtendBySET, Bounds: explore.Bounds{Clients: "AB", Expiry: 1},
			Violation: explore.Overwritten, Expect: lab.Sometimes,
		},
	},
	Variants: []lab.Variant{
		{Name: "SET NX", Strategy: "SET NX PX", Anomaly: excluded, Run: clients.Interleaving(articlelock.Compare, bothRequest)},
		{Name: "SET NX, DEL", Strategy: "SET NX PX, DEL", Anomaly: excluded, Run: clients.Interleaving(articlelock.PlainDEL, bothRequest)},
		{Name: "SETNX", Strategy: "naive SETNX", Anomaly: excluded, Run: clients.Interleaving(articlelock.SETNX, bothRequest)},
		{Name: "A0's lock script", Expect: lab.Sometimes, Run: clients.Interleaving(articlelock.SETWithoutNX, bothRequest)},
		{Name: "A3's acquire, read as tryLock", Expect: lab.Sometimes, Run: clients.Interleaving(articlelock.IgnoredReply, bothRequest)},
		{Name: "extended by comparison", Run: clients.Interleaving(articlelock.Extend, lateExtension)},
		{Name: "A0's extend script", Expect: lab.Sometimes, Run: clients.Interleaving(articlelock.ExtendBySET, lateExtension)},
	},
})

const (
	// excluded is the column of locks on one Redis where nothing fails: A and B share nothing but Redis.
	excluded = "lost update over instances"

	// bothRequest lets B request the lock and read while A has read and not yet written.
	bothRequest = "A A B B A A A B B B"
	// lateExtension lets A extend, write and release after B has taken the lock, and C request it before B reads.
	lateExtension = "A A … B A A A C B C B B C C B C"
)
