package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P9 = experiments.Experiment{
	ID:       "P9-lock-faults",
	Title:    "Page views during every fault of the lock",
	Articles: experiments.Articles{"A0", "A4"},
	Claim:    "No fault of the lock loses a page view, as long as the counter checks the fencing token at the read and at the write.",
	Says: `
		The articles repair the lock. They do not ask what the data could do against a lock that is lost. A0 also says what to do with the
		work. A0's sentence is damaged in the translation. We read: roll back the work of the failed node, and log it.`,
	Lesson: experiments.Lesson{
		Question: `
			Somebody deletes the lock's key again and again, frees the lock by force, and deletes the counter of tokens. Instances are stopped
			for longer than their lease. 20 clients go on counting page views for a minute. How many views does the Redis lock lose?`,
		Predict: `
			(a) Many: every deleted key lets two holders in. (b) A few: most of the faults hit no holder. (c) None: the counter refuses the
			holder with the older token.`,
		Why: `
			(c). The faults do let two holders in, many times. But each holder registers its token when it reads. From then on every holder with an
			older token is refused. So of two holders that have read the same value only one can write. The other one gets 409, and has counted
			nothing. Many are refused here, because the keys are deleted without a pause: all holders but the newest are refused. RedLock
			excludes as well as the Redis lock does, but it has no token: there the same faults lose updates.`,
		Fix: `
			Let the data decide. Check the token in the same command that reads, and in the same command that writes. Then the lock only keeps
			clients from colliding.`,
		Limits: `
			The counter and the lock are on one Redis that does not fail over. A failover that loses the last writes loses views, whatever the
			lock does. A minute without a loss is no proof. The key and the token counter may both be deleted within 32 µs of a
			grant. Then a token can be issued twice, and the second holder that reads with it is refused.`,
		Next:  "L22 shows the one interleaving that the read closes. G9 does the same to orders, and replaces the master as well.",
		Level: experiments.Medium,
	},
	Drawing: `
instance-1   ├─ lock, token 5 ─ read 7 ───────────────────── write 8: refused
admin                         ✗ DEL, forced unlock, SIGSTOP
instance-2                       ├─ lock, token 6 ─ read 7 ─── write 8`,
	How: `
		20 clients send page views to two instances. Meanwhile there are four faults, in turn for half a second each. The lock's key is
		deleted. It
		is deleted together with the counter of tokens. The lock is freed by force. An instance is stopped for two leases (of 300 ms). With
		the Redis lock (v3) the counter checks the token. RedLock (v4) has no token, and shows that the faults are real.`,
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.RedisServer},
		Slow:   true,
		Takes:  90 * time.Second,
		Trials: 1, // of a minute
	},
	Check: services.LostViews,
	Variants: []experiments.Variant{
		{Name: "v3, no fault", Run: services.Chaos{Version: "v3", For: 5 * time.Second, Calm: true}.Views},
		{Name: "v4, no token", Expect: experiments.Sometimes, Fault: true, Run: services.Chaos{Version: "v4", For: 10 * time.Second}.Views},
		{Name: "v3, token checked", Fault: true, Run: services.Chaos{Version: "v3", For: time.Minute}.Views},
	},
}
