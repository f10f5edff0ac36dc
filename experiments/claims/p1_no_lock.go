package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
)

var _ = register(experiments.Experiment{
	ID:      "P1-no-lock",
	Article: "A4",
	Claim:   "Reading a counter, adding one and writing it back without a lock loses updates.",
	Says:    "666 simultaneous requests without a lock leave the counter at 34.",
	Lesson: experiments.Lesson{
		Question: `
			Two instances count page views. Each request reads the counter, adds one and writes the result back, without a lock. 666 people open
			the page simultaneously. What does the counter say afterwards?`,
		Predict: "(a) 666. (b) 665 or a little less: two requests rarely meet. (c) Clearly less, and another number in each run.",
		Why: `
			(c). Updates are lost. Requests that read the same number write the same next number, and together they count as one. The more requests
			run simultaneously, the more of them read before the first one writes. The control loses nothing with the same code. So each request
			is correct alone, and only their interleaving loses updates.`,
		Fix: `
			Close the gap between the read and the write. One atomic command does that (v0). Otherwise use a lock that all instances share: then
			the requests read and write one after the other (v3, v4). A mutex in each process is not enough (v2).`,
		Limits: `
			How many updates are lost depends on the machine and on its load, so no number is the right one. A run without a loss would not prove
			that the code is correct. A test with one user finds nothing, as the control shows.`,
		Next: "P2-process-mutex adds a mutex to each process, and P3-redis-lock a lock that both processes share. P0-atomic needs no lock. By " +
			"hand: `app demo --versions v1 --rounds 5` shows how much the result varies.",
		Level: experiments.Basic,
		Start: true,
	},
	Drawing: `
instance-1   GET → 0             SET 1
instance-2            GET → 0            SET 1     two views, counted once`,
	How:     "666 requests go to two instances in equal parts. The control sends them one after the other, the other variant simultaneously.",
	Anomaly: kit.LostUpdate,
	Takes:   3 * time.Second,
	Check:   kit.LostViews,
	Variants: []experiments.Variant{
		{Name: "one request at a time", Run: kit.PageViews(kit.Service{Version: "v1", Sequential: true})},
		{Name: "666 simultaneously", Expect: experiments.Sometimes, Run: kit.PageViews(kit.Service{Version: "v1"})},
	},
})
