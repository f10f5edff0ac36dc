package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

var _ = register(experiments.Experiment{
	ID:      "L10-set-without-nx",
	Article: "A0, A3",
	Claim:   "A script that takes or extends a lock by SET without NX excludes nobody and takes it from its holder; so does an acquire whose answer nobody looks at.",
	Says:    "A0 gives one script to lock (SET, and if that succeeded EXPIRE) and one to extend, which begins the same way. SET always succeeds. A3's acquire says true whatever its lock did.",
	Erratum: "A0's lock script has no NX: it always succeeds. A0's extend script begins with SET too: whoever extends late overwrites the next holder's lock. A3's `acquire` returns true whatever happened.",
	Drawing: `
A  SET, EXPIRE → 1   read 0                      write 1
B                             SET, EXPIRE → 1    read 0   write 1

A  SET NX → OK  read 0 …                SET (extend) → 1   write 1   compare, DEL → 1
B               lease over  SET NX → OK    (A's value is in its lock)                   read 1   write 2
C                                                                     SET NX → OK       read 1   write 2`,
	How:   "A has the lock and has read; B asks. For the extension A's lease ends, B takes the lock, and A extends, writes and releases: with a comparison nothing of B's is touched, and C is refused.",
	Takes: 2 * time.Second,
	Check: history.Counter,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.Compare, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1}, Violation: steps.LostUpdate},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1}, Violation: steps.LostUpdate},
		{Lock: naive.SETWithoutNX, Bounds: steps.Bounds{Clients: "AB"}, Violation: steps.LostUpdate, Expect: experiments.Sometimes},
		{Lock: naive.Unheard, Bounds: steps.Bounds{Clients: "AB"}, Violation: steps.LostUpdate, Expect: experiments.Sometimes},
		{Lock: naive.Extend, Bounds: steps.Bounds{Clients: "ABC", Expiry: 1}, Violation: steps.Stolen},
		{Lock: naive.ExtendBySET, Bounds: steps.Bounds{Clients: "AB", Expiry: 1}, Violation: steps.Stolen, Expect: experiments.Sometimes},
	},
	Variants: []experiments.Variant{
		{Name: "SET NX", Run: walk(naive.Compare, bothAsk)},
		{Name: "A0's lock script", Expect: experiments.Sometimes, Run: walk(naive.SETWithoutNX, bothAsk)},
		{Name: "A3's acquire", Expect: experiments.Sometimes, Run: walk(naive.Unheard, bothAsk)},
		{Name: "extended by comparison", Run: walk(naive.Extend, lateExtension)},
		{Name: "A0's extend script", Expect: experiments.Sometimes, Run: walk(naive.ExtendBySET, lateExtension)},
	},
})

const (
	// bothAsk lets B ask and read while A has read and not yet written.
	bothAsk = "A A B B A A A B B B"
	// lateExtension lets A extend, write and release after B has taken the lock, and C ask before B reads.
	lateExtension = "A A … B A A A C B C B B C C B C"
)
