package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P0 = experiments.Experiment{
	ID:       "P0-atomic",
	Articles: experiments.Articles{"A4"},
	Claim:    "INCR needs no lock: A4's first listing, run as it is printed, ends at 666 and not at 34.",
	Says:     "Without a lock, 666 simultaneous requests on two instances leave the counter at 34.",
	Errata: []experiments.Erratum{{
		Article: "A4", What: `
		A4's listing without a lock increments by one atomic INCR (AtomicLong.incrementAndGet). It loses nothing, and returns no value twice.
		The reported 34 and the reported duplicates need a read and a write, as in its second listing, without the synchronized around them.`,
		Where: "/v1/pview: `getAtomicLong(\"pview\").incrementAndGet()`; the result: `итоговый результат 34`, and below it `есть дубликаты`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A4's listing without a lock adds one to the counter by a single INCR. A4 reports that 666 simultaneous requests to two instances left
			the counter at 34. Where does the counter end when the listing runs as it is printed?`,
		Predict: "(a) Near 34, as reported. (b) At 666. (c) Somewhere between, at another number in each run.",
		Why: `
			(b). INCR loses nothing, because Redis reads, adds and writes inside one command. Redis executes one command at a time, so no other
			client comes between. A loss needs a gap between a read and a write. The variant that reads by GET and writes by SET has that gap. Two
			requests in it read the same number, and both write the same next number.`,
		Fix: `
			Ask first whether one atomic command does the work. INCR, a conditional UPDATE or a script needs no lock, no expiry and no release.
			Take a lock when the work has several steps that no single command can do.`,
		Limits: `
			The run shows what the printed listing does. It does not show what A4's author executed: we suppose a read and a write. Atomic does
			not mean exactly once, either. An INCR that a client repeats because the reply was lost counts twice.`,
		Next: "P1-no-lock shows the lost updates, and P2-process-mutex A4's second listing. G6-conditional-update asks the same question of a " +
			"database. By hand: `app demo --versions v0,v1`.",
		Level: experiments.Basic,
	},
	Drawing: `
A    INCR → 1                       A    GET → 0           SET 1
B              INCR → 2             B            GET → 0          SET 1
as printed: nothing between         as reported: both read 0, one update is lost`,
	How: `
		666 simultaneous requests, each on an open connection, go to two instances in equal parts. One variant uses INCR, another a read and a
		write. The control sends the requests one after the other.`,
	Anomaly:  services.LostUpdate,
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    services.LostViews,
	Variants: []experiments.Variant{
		{Name: "INCR, one request at a time", Run: services.PageViews(services.Service{Version: "v0", Sequential: true})},
		{Name: "INCR, 666 simultaneously: as printed", Run: services.PageViews(services.Service{Version: "v0"})},
		{
			Name: "read and write, 666 simultaneously: as reported", Expect: experiments.Sometimes,
			Run: services.PageViews(services.Service{Version: "v1"}),
		},
	},
}
