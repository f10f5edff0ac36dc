package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

var L18 = experiments.Experiment{
	ID:       "L18-loser-unlocks",
	Articles: experiments.Articles{"A3"},
	Claim:    "A refused client that unlocks by DEL in its finally block deletes the holder's lock.",
	Says: `
		The first listing takes the lock inside the try block, and calls unlock in its finally block. The unlock has no argument. The listings
		of getLock and releaseLock come later, and releaseLock compares the request's id.`,
	Errata: []experiments.Erratum{{
		Article: "A3", What: `
		A3's first listing calls unlock in a finally block, although getLock may have failed. If unlock is a plain DEL, a refused client
		deletes the holder's lock.`,
		Where: "the first listing: `if(getLock()){`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A program writes try { if (lock()) { work } } finally { unlock() }. A second client is refused by lock(). What does its finally
			block do?`,
		Predict: `
			(a) Nothing: it does not hold the lock. (b) It deletes the first client's lock. (c) It depends on what unlock compares.`,
		Why: `
			Both (b) and (c) are right. A finally block runs on every way out of the try block, so that a refused client unlocks as well.
			If unlock is DEL, the key of the holder is gone while the holder works. A third client takes the lock beside it. Both read the same
			value, and one update is lost. No lease has ended here, and no client has died. An unlock that compares the value changes nothing,
			because the refused client's value is not in the lock.`,
		Fix: `
			Take the lock before the try block, and enter the block only when it was granted. In Go, write defer after the check of the error.
			Compare the value in the release as well: then such a mistake costs one request, and not the lock.`,
		Limits: `
			The article does not print its unlock. If it is the article's own releaseLock with a unique request id, the mistake does no harm.
			The run shows both. Redisson's unlock throws an exception in a thread that does not hold the lock.`,
		Next: "L03-foreign-unlock deletes the next holder's lock after the lease. L19-release-answers-one shows a release that says yes to any " +
			"client. In `app lab step L18` you are the scheduler, and `app lab explore L18` finds the shortest interleaving.",
		Level: experiments.Basic,
	},
	Drawing: `
A  SET NX → OK   read 0                                        write 1
B                       SET NX → (nil)   DEL → 1 (A's lock)
C                                                SET NX → OK   read 0    write 1`,
	How: `
		A takes the lock and reads. B is refused, and executes the release of its finally block. C requests the lock. Then A writes, and C
		writes if it was granted the lock. The variants differ in one thing: whether a refused client releases, and by what.`,
	Anomaly:  "unlock by a non-owner",
	Schedule: experiments.Schedule{Takes: time.Second},
	Check:    history.Counter,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.PlainDEL, Bounds: steps.Bounds{Clients: "ABC"}, Violation: steps.NonOwnerUnlock},
		{Lock: naive.ScriptInFinally, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{
			Lock: naive.UnlockInFinally, Bounds: steps.Bounds{Clients: "AB"},
			Violation: steps.NonOwnerUnlock, Expect: experiments.Sometimes,
		},
	},
	Variants: []experiments.Variant{
		{Name: "unlock only after success", Run: clients.Interleaving(naive.PlainDEL, refusedBetween)},
		{Name: "in finally, by script", Run: clients.Interleaving(naive.ScriptInFinally, refusedBetween)},
		{
			Name: "in finally, by DEL", Expect: experiments.Sometimes, Strategy: "SET NX PX, DEL",
			Run: clients.Interleaving(naive.UnlockInFinally, refusedBetween),
		},
	},
}

// refusedBetween lets B be refused and do what follows from that, and C request the lock, while A has read and not written.
const refusedBetween = "A A B B C C A C A C C"
