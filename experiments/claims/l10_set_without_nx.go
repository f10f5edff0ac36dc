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
	ID:      "L10-set-without-nx",
	Article: "A0, A3",
	Claim: `
		A script that takes or extends a lock by SET without NX excludes no client and takes the lock from its holder. An acquire whose reply is
		ignored does not exclude either.`,
	Says: `
		A0 gives one script to lock (SET, and if that succeeded EXPIRE) and one to extend, which begins the same way. SET always succeeds. A3's
		acquire returns true whatever its lock did.`,
	Errata: []experiments.Erratum{{Article: "A0", What: `
		A0's lock script has no NX: it always succeeds. A0's extend script begins with SET too: a late extension overwrites the next holder's
		lock.`}, {Article: "A3", What: `
		The listing's acquire returns true whatever happened.`}},
	Drawing: `
A  SET, EXPIRE → 1   read 0                      write 1
B                             SET, EXPIRE → 1    read 0   write 1

A  SET NX → OK  read 0 …                SET (extend) → 1   write 1   compare, DEL → 1
B               lease over  SET NX → OK    (A's value is in its lock)                   read 1   write 2
C                                                                     SET NX → OK       read 1   write 2`,
	How: `
		A holds the lock and has read; B requests it. For the extension A's lease ends, B takes the lock, and A extends, writes and releases.
		With a comparison A changes nothing of B's, and C is refused.`,
	Takes: 2 * time.Second,
	Check: history.Counter,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.Compare, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1}, Violation: steps.LostUpdate},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1}, Violation: steps.LostUpdate},
		{Lock: naive.SETWithoutNX, Bounds: steps.Bounds{Clients: "AB"}, Violation: steps.LostUpdate, Expect: experiments.Sometimes},
		{Lock: naive.IgnoredReply, Bounds: steps.Bounds{Clients: "AB"}, Violation: steps.LostUpdate, Expect: experiments.Sometimes},
		{Lock: naive.Extend, Bounds: steps.Bounds{Clients: "ABC", Expiry: 1}, Violation: steps.Overwritten},
		{Lock: naive.ExtendBySET, Bounds: steps.Bounds{Clients: "AB", Expiry: 1}, Violation: steps.Overwritten, Expect: experiments.Sometimes},
	},
	Variants: []experiments.Variant{
		{Name: "SET NX", Run: kit.Interleaving(naive.Compare, bothRequest)},
		{Name: "A0's lock script", Expect: experiments.Sometimes, Run: kit.Interleaving(naive.SETWithoutNX, bothRequest)},
		{Name: "A3's acquire", Expect: experiments.Sometimes, Run: kit.Interleaving(naive.IgnoredReply, bothRequest)},
		{Name: "extended by comparison", Run: kit.Interleaving(naive.Extend, lateExtension)},
		{Name: "A0's extend script", Expect: experiments.Sometimes, Run: kit.Interleaving(naive.ExtendBySET, lateExtension)},
	},
})

const (
	// bothRequest lets B request the lock and read while A has read and not yet written.
	bothRequest = "A A B B A A A B B B"
	// lateExtension lets A extend, write and release after B has taken the lock, and C request it before B reads.
	lateExtension = "A A … B A A A C B C B B C C B C"
)
