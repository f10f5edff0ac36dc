package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var G3 = services.LockedGrabs(experiments.Experiment{
	ID:       "G3-redis-lock",
	Articles: experiments.Articles{"A2"},
	Claim:    "With the Redis lock exactly one driver wins the order.",
	Says: `
		A2 replaces the lock of the JVM by SETNX, and then by Redisson, so that one driver gets the order. It reports no result.`,
	Lesson: experiments.Lesson{
		Question: `
			The lock of an order is now a key in Redis, which both services use. The service reads, thinks and writes while it holds the lock.
			One driver gets the order. What happens to the other nineteen?`,
		Predict: `
			(a) They are refused immediately. (b) They wait, and are then told which driver has the order. (c) They can win as well, when the
			first driver thinks for long.`,
		Why: `
			(b). Exactly one driver wins. The requests of the others wait for the lock, one after the other. Each of them then reads the order and is
			told which driver has it. The lease is renewed while the service thinks, so that the lock does not end before the write.`,
		Fix: `
			Read again after the lock is granted: what was read before may be old. Use one key for each order, so that drivers who want different
			orders do not wait for each other.`,
		Limits: `
			No server fails, and no instance is paused. The order also refuses a write with an old fencing token, so the run does not show the
			lock alone. The losers wait only to learn that they have lost: a conditional UPDATE tells them without waiting (G6).`,
		Next: "G4-redlock uses five nodes, G5-losers-are-told looks at the answers, G6-conditional-update needs no lock. F01-master-slave " +
			"shows how this lock is lost. By hand: `app demo --versions v3`.",
		Level: experiments.Basic,
	},
	Drawing: `
driver 1 at instance-1   [ read: open   …thinks…   write: mine ]   "you have it"
driver 2 at instance-2   waits                                   [ read: taken ]   "driver 1 has it"`,
	How: `
		20 drivers, ten for each of two instances, request one order simultaneously, with the Redis lock. The variant with the mutex proves that
		two drivers would win. The control grants by a conditional UPDATE. An instance thinks for 100 ms, and in one variant for 1 s, as in A2.`,
	Schedule: experiments.Schedule{Takes: 9 * time.Second},
},
	experiments.Variant{Name: "Redis lock", Strategy: "v3", Run: services.Grabs(services.Service{Version: "v3"})},
	experiments.Variant{
		Name: "Redis lock, A2's second of thinking", Slow: true,
		Run: services.Grabs(services.Service{Version: "v3", Think: time.Second}),
	},
)
