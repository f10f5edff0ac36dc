package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

var L03 = experiments.Experiment{
	ID:       "L03-foreign-unlock",
	Title:    "Unlock by a non-owner",
	Articles: experiments.Articles{"A0", "A2", "A3"},
	Claim: `
		A late DEL deletes the next holder's lock, even after a comparison in the client; one script that compares and deletes does not.`,
	Says: `
		A0 says that a slow holder deletes the next holder's lock after its lease. A2 says that a plain delete may release another's lock, and
		A3 that others must not unlock mine. A0 compares the value in a script. A2 compares in the client, by a command of its own. A3 shows
		both, and recommends the script.`,
	Errata: []experiments.Erratum{{
		Article: "A2", What: `
		A2 releases by GET, a comparison in the client, and DEL. These are two commands, so it can still delete another client's lock.`,
		Where: "method 1, lines 60 to 62 of the listing: `stringRedisTemplate.opsForValue().get(lock.intern())`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A client takes the lock with an expiry, and is slow. Its lease ends, and another client takes the lock. Then the slow client finishes
			and releases. Whose lock does it delete?`,
		Predict: `
			(a) None: Redis knows the owner. (b) Its successor's, unless it compares the value first. (c) Its successor's, even if the client
			compares first.`,
		Why: `
			(c). DEL deletes the key of any client: Redis knows no owners. A comparison in the client helps only while nothing happens before the
			DEL. The lease can end between GET and DEL, and then DEL deletes the successor's lock. A third client takes the lock beside the second
			one. Both read the same value, and one update is lost.`,
		Fix: `
			Store a value that is unique for each attempt (L04), and let one script compare and delete. Redis executes a script as a whole, so no
			client comes between. v3's release.lua does the same with the owner in a hash.`,
		Limits: `
			The script protects the successor's lock, and not the work. While the slow client still works, it works simultaneously with its
			successor, and its late write is accepted (L05). The run forces the interleaving, and does not show how often it happens.`,
		Next: "L04-shared-value defeats the comparison, and L05-lease-overrun writes late. In `app lab step L03` you are the scheduler, and " +
			"`app lab explore L03` finds the shortest interleaving that violates.",
		Level: experiments.Medium,
		Start: true,
	},
	How: `
		A takes the lock and is slow; its lease ends; B takes the lock and reads. Now A releases "its" lock. C takes the lock that A has
		deleted, and B and C write the same value. For the comparison in the client, A is stopped between GET and DEL. SETNX alone has no
		lease: B is refused, and C acquires after A's release.`,
	Anomaly:  "unlock by a non-owner",
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    history.Counter,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.Compare, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1, Expiry: 1}, Violation: steps.NonOwnerUnlock},
		{Lock: naive.PlainDEL, Bounds: steps.Bounds{Clients: "AB", Expiry: 1}, Violation: steps.NonOwnerUnlock, Expect: experiments.Sometimes},
		{
			Lock: naive.CompareInClient, Bounds: steps.Bounds{Clients: "AB", Expiry: 1},
			Violation: steps.NonOwnerUnlock, Expect: experiments.Sometimes,
		},
	},
	Variants: []experiments.Variant{
		{Name: "script", Strategy: "SET NX PX", Run: clients.Interleaving(naive.Compare, "A A A … B B A C C C B C B")},
		{
			Name: "DEL", Expect: experiments.Sometimes, Strategy: "SET NX PX, DEL",
			Run: clients.Interleaving(naive.PlainDEL, "A A A … B B A C C C B C B"),
		},
		{Name: "SETNX, whose key does not expire", Strategy: "naive SETNX", Run: clients.Interleaving(naive.SETNX, "A A A … B B A C C C B C B")},
		{
			Name: "comparison in the client", Expect: experiments.Sometimes,
			Run: clients.Interleaving(naive.CompareInClient, "A A A A … B B A C C C B C C B B"),
		},
		{Name: "v3's scripts", Strategy: "v3", Run: clients.Interleaving(steps.V3, "A A A … B B A C C C B C B")},
	},
}
