package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/articlelock"
)

var L10 = experiments.Experiment{
	ID:       "L10-set-without-nx",
	Articles: experiments.Articles{"A0", "A3"},
	Claim: `
		SET without NX grants the lock to every client, an extension by SET overwrites the next holder's lock, and an ignored refusal
		excludes nobody.`,
	Level:    experiments.Medium,
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    history.Counter,
	Interleavings: []experiments.Interleavings{
		{Lock: articlelock.Compare, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1}, Violation: steps.LostUpdate},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1}, Violation: steps.LostUpdate},
		{Lock: articlelock.SETWithoutNX, Bounds: steps.Bounds{Clients: "AB"}, Violation: steps.LostUpdate, Expect: experiments.Sometimes},
		{Lock: articlelock.IgnoredReply, Bounds: steps.Bounds{Clients: "AB"}, Violation: steps.LostUpdate, Expect: experiments.Sometimes},
		{Lock: articlelock.Extend, Bounds: steps.Bounds{Clients: "ABC", Expiry: 1}, Violation: steps.Overwritten},
		{
			Lock: articlelock.ExtendBySET, Bounds: steps.Bounds{Clients: "AB", Expiry: 1},
			Violation: steps.Overwritten, Expect: experiments.Sometimes,
		},
	},
	Variants: []experiments.Variant{
		{Name: "SET NX", Strategy: "SET NX PX", Anomaly: excluded, Run: clients.Interleaving(articlelock.Compare, bothRequest)},
		{Name: "SET NX, DEL", Strategy: "SET NX PX, DEL", Anomaly: excluded, Run: clients.Interleaving(articlelock.PlainDEL, bothRequest)},
		{Name: "SETNX", Strategy: "naive SETNX", Anomaly: excluded, Run: clients.Interleaving(articlelock.SETNX, bothRequest)},
		{Name: "A0's lock script", Expect: experiments.Sometimes, Run: clients.Interleaving(articlelock.SETWithoutNX, bothRequest)},
		{Name: "A3's acquire, read as tryLock", Expect: experiments.Sometimes, Run: clients.Interleaving(articlelock.IgnoredReply, bothRequest)},
		{Name: "extended by comparison", Run: clients.Interleaving(articlelock.Extend, lateExtension)},
		{Name: "A0's extend script", Expect: experiments.Sometimes, Run: clients.Interleaving(articlelock.ExtendBySET, lateExtension)},
	},
}

const (
	// excluded is the column of locks on one Redis where nothing fails: A and B share nothing but Redis.
	excluded = "lost update over instances"

	// bothRequest lets B request the lock and read while A has read and not yet written.
	bothRequest = "A A B B A A A B B B"
	// lateExtension lets A extend, write and release after B has taken the lock, and C request it before B reads.
	lateExtension = "A A … B A A A C B C B B C C B C"
)
