package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
	"locklab/history"
	"locklab/topology"
)

var G9 = experiments.Experiment{
	ID:       "G9-lock-faults",
	Title:    "Orders during every fault of the lock",
	Articles: experiments.Articles{"A2"},
	Claim:    "No fault of the lock, and no failover of its Redis, gives an order to two drivers, as long as the database checks the token.",
	Says:     "A2's holder reads the status, and writes when it is 0. The UPDATE itself has no condition, and no token is checked.",
	Lesson: experiments.Lesson{
		Question: `
			The lock is in a Redis with replicas, the orders are in a database. The master of Redis is replaced again and again, its keys are
			deleted, and instances are paused past their lease. The tokens come from that Redis, too. Does an order get two winners?`,
		Predict: `
			(a) Yes: a failover loses the lock. (b) Yes: a failover loses the counter of tokens, so the next holder gets a smaller token. (c) No.`,
		Why: `
			(c). A failover does lose the lock and the counter of tokens. But a token is made of the server's time in steps of 32 µs, or of the last
			number plus one. So tokens grow although the counter is lost, and the newer holder has the larger one. The database stores it when the
			holder reads the order, and refuses the older holder's write. During a failover two masters may grant the same token within 32 µs. So
			the database refuses the second holder that reads with a registered token. The driver whose holder was refused gets 409, and
			can ask again.`,
		Fix: `
			UPDATE the stored token under the condition that it is smaller, and read, in one transaction. Write only if lock,
			token and name of the last registration are the holder's own. Take tokens from a source that grows although it forgets.`,
		Limits: `
			The tokens grow as long as the new master's clock is not behind the old one's by more than the time of the failover. If it is, the
			newer holders are refused until that clock has caught up. No order gets two winners, but some drivers have to ask again. What the
			orders' own database loses in its failover is not covered.`,
		Next: `
			F02 loses the lock in one failover, step by step. P9 does the same to page views. L22 shows why the token is registered at the read.`,
		Level: experiments.Advanced,
	},
	Drawing: `
driver 1   ├─ lock, token 5 ─ reads "open" ─ thinks ─────────────── writes: refused
Redis                                 ✗ failover: the lock is lost
driver 2                                 ├─ lock, token 6 ─ reads "open" ─ thinks ─ wins`,
	How: `
		20 drivers grab one order after the other at two instances, which think for 20 ms. The faults are those of P9. With Sentinel the master
		is replaced, too, again and again: the old one accepts writes until it learns of it, and then drops them. The orders are in a database
		of their own. RedLock (v4) has no token, and shows that the faults are real.`,
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.RedisServer},
		Slow:   true,
		Takes:  110 * time.Second,
		Trials: 1, // of up to a minute
	},
	Check: history.Winners,
	Variants: []experiments.Variant{
		{Name: "v3, no fault", Run: services.Chaos{Version: "v3", For: 5 * time.Second, Calm: true}.Orders},
		{Name: "v4, no token", Expect: experiments.Sometimes, Fault: true, Run: services.Chaos{Version: "v4", For: 10 * time.Second}.Orders},
		{Name: "v3, token checked", Fault: true, Run: services.Chaos{Version: "v3", For: 20 * time.Second}.Orders},
		{
			Name: "v3, token checked, with failovers", Fault: true,
			Run: services.Chaos{Version: "v3", For: time.Minute, Topology: topology.Sentinel}.Orders,
		},
	},
}
