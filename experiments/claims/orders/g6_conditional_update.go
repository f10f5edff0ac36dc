package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
	"locklab/history"
)

var G6 = experiments.Experiment{
	ID:       "G6-conditional-update",
	Articles: experiments.Articles{"A2"},
	Claim:    "An UPDATE with the condition that the order is still open has exactly one winner, without a lock.",
	Says:     "The service reads the order, compares its status and writes it in three steps. So a lock goes around them.",
	Lesson: experiments.Lesson{
		Question: `
			Twenty drivers request one order. The service sends one UPDATE with the condition that the order is still open, and looks at the
			number of changed rows. There is no lock. How many drivers win?`,
		Predict: "(a) Several drivers, as in any run without a lock. (b) One driver. (c) One driver at each instance.",
		Why: `
			(b). One driver wins, because the database tests the condition and writes in one statement. It executes the changes of one row one after
			the other. The first UPDATE changes one row. Every later one finds the order taken and changes none, and so its driver has lost.`,
		Fix: `
			Prefer this to a lock when the decision fits into one statement of one database. It needs no expiry and no renewal, and a client that
			is paused does no harm. Take a lock when the work reaches several systems, or lasts longer than a transaction should.`,
		Limits: `
			The service cannot think between the read and the write here: the decision has to be in the condition. The run uses SQLite, which has
			one writer at a time. An UPDATE whose answer is lost may have won, and the client has to read the order to know.`,
		Next: "P0-atomic is the same idea in Redis. G1-no-lock is the read and the write without a condition, and G3-redis-lock puts a lock " +
			"around them. By hand: `app demo --versions v0,v1`.",
		Level: experiments.Basic,
	},
	Drawing: `
driver 1 at instance-1   UPDATE … WHERE status = 'open' → 1 row    "you have it"
driver 2 at instance-2   UPDATE … WHERE status = 'open' → 0 rows   "driver 1 has it"`,
	How: `
		20 drivers, ten for each of two instances, request one order simultaneously. One variant reads, thinks and writes without a lock.
		Another sends one conditional UPDATE. The control reads, thinks and writes for one driver after the other.`,
	Anomaly:  services.LostUpdate,
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    history.Winners,
	Variants: []experiments.Variant{
		{Name: "read and write, one driver at a time", Run: services.Grabs(services.Service{Version: "v1", Sequential: true})},
		{Name: "read and write, 20 simultaneously", Expect: experiments.Sometimes, Run: services.Grabs(services.Service{Version: "v1"})},
		{Name: "conditional UPDATE, 20 simultaneously", Run: services.Grabs(services.Service{Version: "v0"})},
	},
}
