package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

var L04 = experiments.Experiment{
	ID:       "L04-shared-value",
	Articles: experiments.Articles{"A0", "A2"},
	Claim: `
		A value that two attempts share, such as the driver's id, lets one attempt release the other's lock although the release compares.`,
	Says: `
		A2 stores the driver's id in the lock. A0's line is damaged ("130"): we read the value 1, the same for each client, and an expiry
		of 30.`,
	Errata: []experiments.Erratum{{
		Article: "A2", What: `
		A2's lock contains the driver's id, which is the same in each of one driver's requests. So the first one's late release deletes the
		second one's lock.`,
		Where: "method 1, line 36 of the listing: `setIfAbsent(lock.intern(), driverId+ \"\" , 30L`",
	}, {
		Article: "A2", What: `
		A2 contradicts itself. Its rule says that the value must be unique over all requests of all clients; its listing stores the driver's
		id.`,
		Where: "method 1, point 2 of the list of key points (集中): `一意である必要があります`; line 36 of the listing: `driverId+ \"\"`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A2's lock contains the driver's id, and the release compares it before it deletes. A driver sends a second request, because the first
			one seems to hang. Can the first request release the lock of the second?`,
		Predict: `
			(a) No, because the release compares. (b) No, because a second request of one driver is always refused. (c) Yes, once the first lease
			has ended.`,
		Why: `
			(c). Both requests store the same value, so the first one finds "its own" value in the second one's lock. It compares correctly and
			deletes the wrong lock, although comparison and DEL are one script. A third client takes the lock beside the second request. Both
			read the same value, and one update is lost.`,
		Fix: `
			Store a value that is unique for each attempt: a random UUID, or the UUID of a process and a counter, as v3 does. A driver, a user or
			a machine is not an attempt.`,
		Limits: `
			A late release needs a lease that has ended, as in L03. A2's listing compares in the client, too; here a script compares, so that
			only the value differs. Re-entrance is another matter: there one owner enters twice on purpose, and is counted (L08).`,
		Next: "L03-foreign-unlock has unique values and compares in the wrong place. L08-reentrant lets one owner enter twice. In " +
			"`app lab step L04` you move the two requests, and `app lab explore L04` tries every interleaving.",
		Level: experiments.Medium,
	},
	Drawing: `
A (driver 7)  SET "7" → OK   read 0  …                compare "7", DEL → 1 (B's lock)
B (driver 7)                     lease over   SET "7" → OK                        read 1, write 2
C                                                                     SET → OK    read 1, write 2`,
	How: `
		A and B are two attempts of one driver. A is slow; its lease ends; B takes the lock; A releases. C takes the lock that A has deleted,
		and B and C write the same value. Both variants release by one script that compares.`,
	Schedule: experiments.Schedule{Takes: 2 * time.Second},
	Check:    history.Counter,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.Compare, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{
			Lock: naive.SharedValue, Bounds: steps.Bounds{Clients: "AB", Expiry: 1},
			Violation: steps.NonOwnerUnlock, Expect: experiments.Sometimes,
		},
	},
	Variants: []experiments.Variant{
		{Name: "a value for each attempt", Run: clients.Interleaving(naive.Compare, sameDriver)},
		{Name: "the driver's id", Expect: experiments.Sometimes, Run: clients.Interleaving(naive.SharedValue, sameDriver)},
	},
}

// sameDriver lets A's lease end before it releases, while B holds the lock, and C try after it.
const sameDriver = "A A A … B A C B C B C B C"
