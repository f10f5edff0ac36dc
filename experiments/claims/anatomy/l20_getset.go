package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

var L20 = experiments.Experiment{
	ID:       "L20-getset",
	Title:    "SETNX and GETSET",
	Articles: experiments.Articles{"A1"},
	Claim:    "A lock of SETNX and GETSET trusts its clients' clocks, and a refused client can leave it locked without a holder.",
	Says: `
		A1 says that early versions of Redisson seem to have used SETNX with GETSET, and that scripts made that unnecessary. It prints no
		listing of it.`,
	Elsewhere: `
		The key contains the time at which the lock ends, and GETSET takes an ended lock from its holder. Redis's page of SETNX
		describes this lock, and discourages it (https://redis.io/docs/latest/commands/setnx/).`,
	Lesson: experiments.Lesson{
		Question: `
			The lock's value is the time at which it ends, written by its holder. A client that finds a time in the past takes the lock by
			GETSET. If GETSET returns the time that the client has read, the lock is its own. Two clients find the lock ended at the same
			moment. How many take it?`,
		Predict: "(a) Both. (b) One, and nothing else changes. (c) One, but the other has changed the lock.",
		Why: `
			(c). One takes it, because GETSET returns the old value to one of them only. The other one is refused, and yet it has written its own
			time into the lock. So the holder does not find its own value when it releases. The lock stays without a holder until that time.
			When a clock is ahead by more than a lease, its client finds a lock ended that the holder has just taken. Then both work.`,
		Fix: `
			Let the server count the time: SET NX PX, or a script. Then no clock of a client decides. v3 to v8 do so, v5 by the database's
			clock. Store a value that names the attempt, and not a time, so that the release can tell whose lock it is.`,
		Limits: `
			The clocks are variables of the run: no machine's clock is set, and no time really passes. Work that outlasts the lease is not
			protected, as with any lease (L05). A refused client ends here; in a program it tries again, and moves the end of the lock once
			more. If no client comes, the key stays for ever: it has no expiry.`,
		Next: "F07-redlock-clock lets a server's clock jump. L02-setnx-then-expire shows the other repair of SETNX. In `app lab step L20` you " +
			"play two clients that see the lock ended, and `app lab explore L20` tries every interleaving.",
		Level: experiments.Medium,
	},
	Drawing: `
lock      "10:00"  (it is 10:01 by both clocks)
B  GET → "10:00"                 GETSET "10:31" → "10:00"  mine     …   GET → not its own: the lock stays
C           GET → "10:00"                         GETSET "10:32" → "10:31"  refused, and the value is C's`,
	How: `
		A takes the lock and dies. Its lease ends. Then B takes the lock, works and releases it: in the control alone, in the next variant while
		C sees the same ended lock. A lost update is a violation, and so is a lock that stays without a holder. In the last variant A is alive,
		and B's clock is an hour ahead.`,
	Schedule: experiments.Schedule{Takes: time.Second},
	Check:    clients.Any(history.Counter, clients.Noted(steps.LeftUntilExpiry.Mark())),
	Interleavings: []experiments.Interleavings{
		{Lock: naive.GetSet, Bounds: steps.Bounds{Clients: "AB", Deaths: 1, Expiry: 1}, Violation: steps.Overwritten},
		{Lock: naive.GetSet, Bounds: steps.Bounds{Clients: "ABC", Expiry: 1}, Violation: steps.Overwritten, Expect: experiments.Sometimes},
		{Lock: naive.GetSetApart, Bounds: steps.Bounds{Clients: "AB"}, Violation: steps.LostUpdate, Expect: experiments.Sometimes},
	},
	Variants: []experiments.Variant{
		{Name: "one client sees it ended", Run: clients.Interleaving(naive.GetSet, "A A A† … B B B B B B B")},
		{
			Name: "two clients see it ended", Expect: experiments.Sometimes,
			Run: clients.Interleaving(naive.GetSet, "A A A† … B B C C B C B C B C B C C"),
		},
		{Name: "clocks an hour apart", Expect: experiments.Sometimes, Run: clients.Interleaving(naive.GetSetApart, "A A B B B B A B A A B B")},
	},
}
