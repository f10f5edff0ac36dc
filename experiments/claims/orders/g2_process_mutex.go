package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
	"locklab/history"
)

var G2 = experiments.Experiment{
	ID:       "G2-process-mutex",
	Articles: experiments.Articles{"A2"},
	Claim:    "With a mutex in the process, one instance grants an order once, and two instances grant it twice.",
	Says:     "With a lock of the JVM the order succeeds at both services. Each service prints that, and returns null.",
	Lesson: experiments.Lesson{
		Question: `
			Each service has a lock of its own process around the read and the write, as A2 does with synchronized. Ten drivers request the order
			at one service, and ten at the other. How many drivers get it?`,
		Predict: "(a) One driver. (b) Two drivers, one at each service. (c) More than two.",
		Why: `
			(b). Each service grants the order once. Inside a service the second driver enters after the first one's write, and reads that the order
			is taken. The other service has a mutex of its own, which is free. Its first driver reads before anything is written, and wins as
			well.`,
		Fix: "Put the lock outside of both processes (G3, G4), or let the database decide by a conditional UPDATE (G6).",
		Limits: `
			One instance is protected, but only until a second one starts. A deployment that starts the new version before it stops the old one
			is enough. The run has two instances: with more of them there may be as many winners.`,
		Next: "G3-redis-lock takes the lock out of the processes. P2-process-mutex counts what the same mutex loses. By hand: " +
			"`app demo --versions v2`.",
		Level: experiments.Basic,
	},
	Drawing: `
driver 1 at instance-1   [ read: open   …thinks…   write: mine ]   "you have it"
driver 2 at instance-2     [ read: open   …thinks…   write: mine ]   "you have it"
driver 3 at instance-1   waits                                   [ read: taken ]`,
	How: `
		20 drivers request one order simultaneously, at one instance and at two. Between reading and writing an instance thinks for 100 ms,
		and in one variant for 1 s, as in A2.`,
	Anomaly:  services.LostUpdate,
	Schedule: experiments.Schedule{Takes: 8 * time.Second},
	Check:    history.Winners,
	Variants: []experiments.Variant{
		{Name: "one instance", Run: services.Grabs(services.Service{Version: "v2", Instances: 1})},
		{Name: "two instances", Expect: experiments.Sometimes, Strategy: "v2", Run: services.Grabs(services.Service{Version: "v2"})},
		{
			Name: "two instances, A2's second of thinking", Expect: experiments.Sometimes, Slow: true,
			Run: services.Grabs(services.Service{Version: "v2", Think: time.Second}),
		},
	},
}
