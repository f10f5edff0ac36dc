package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/lockstrategy/naive"
)

var L02 = experiments.Experiment{
	ID:       "L02-setnx-then-expire",
	Articles: experiments.Articles{"A0", "A2", "A3"},
	Claim:    "A crash between SETNX and EXPIRE locks the key for ever; one command, or one script, leaves no moment for that crash.",
	Says: `
		A0 shows SETNX and EXPIRE as two commands, and says that a crash between them locks the key for ever. A2 says so in point 6 of its
		list of key points. The comment at its case 2 mentions a restart and is not clear in the translation; the listing of that case has
		another fault (L25). Both go on to SET with NX, A0 also to a script. A0's line is damaged ("130"): we read the value 1 and an expiry
		of 30. A3 shows both forms, and recommends SET NX EX.`,
	Lesson: experiments.Lesson{
		Question: `
			A client takes the lock by SETNX and sets the expiry by a second command. Is there still a moment in which its death locks the key
			for ever? Is there one if both commands are in one script?`,
		Predict: "(a) No, in both cases. (b) Yes with two commands, no with the script. (c) Yes, in both cases.",
		Why: `
			(b). There is one between the two commands: the key exists, and has no expiry yet. This is L01 in a smaller window, which is hit less
			often and found later. SET NX PX is one command and has no such window. Nor has a script: Redis executes it as a whole, and the death
			of the client that sent it does not stop it.`,
		Fix: `
			Take the lock by SET with NX and PX. Use a script where more has to be written, such as an owner and a token, as v3 does. Never take
			a lock whose expiry a later command has to set.`,
		Limits: `
			A script is no transaction: one that fails in the middle keeps what it has written. Here none fails. A Redis that stops is not tried,
			nor are MULTI and EXEC.`,
		Next: "L01-no-expiry has no expiry at all. L12-unanswered-acquire loses the reply instead of the client. L25-refused-extends has " +
			"A2's listing. In `app lab step L02` you choose when A dies, and `app lab explore L02` tries every moment.",
		Level: experiments.Basic,
	},
	Drawing: `
A  SETNX → 1   †  (EXPIRE never comes)
B                    (a lease later)  SETNX → 0   and so for every client, for ever`,
	How: `
		A dies after its first command. With two commands that is between SETNX and EXPIRE. Then time passes until every expiry is over, and B
		tries.`,
	Schedule:      experiments.Schedule{Takes: 2 * time.Second},
	Check:         clients.Noted(steps.OrphanedLock.Mark()),
	Interleavings: clients.OrphanedLocks(naive.Compare, naive.SETNXScript, steps.V3, naive.SETNXThenEXPIRE),
	Variants: []experiments.Variant{
		{Name: "SET NX PX", Run: clients.Interleaving(naive.Compare, clients.DeadHolder)},
		{Name: "one script", Run: clients.Interleaving(naive.SETNXScript, clients.DeadHolder)},
		{Name: "two commands", Expect: experiments.Sometimes, Run: clients.Interleaving(naive.SETNXThenEXPIRE, clients.DeadHolder)},
	},
}
