package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
)

var _ = register(experiments.Experiment{
	ID:      "P0-atomic",
	Article: "A4",
	Claim:   "INCR needs no lock: A4's first listing, run as it is printed, ends at 666 and not at 34.",
	Says:    "Without a lock, 666 simultaneous requests on two instances leave the counter at 34.",
	Errata: []experiments.Erratum{{Article: "A4", What: `
		A4's listing without a lock increments with an atomic INCR (AtomicLong.incrementAndGet), and loses nothing. The reported 34 needs a read
		and a write, as in its listing with synchronized, without the synchronized.`}},
	Drawing: `
A    INCR → 1                       A    GET → 0           SET 1
B              INCR → 2             B            GET → 0          SET 1
as printed: nothing between         as reported: both read 0, one update is lost`,
	How: `
		666 simultaneous requests, each on an open connection, go to two instances in equal parts. One variant uses INCR, another a read and a
		write. The control sends the requests one after the other.`,
	Anomaly: kit.LostUpdate,
	Takes:   4 * time.Second,
	Check:   kit.LostViews,
	Variants: []experiments.Variant{
		{Name: "INCR, one request at a time", Run: kit.PageViews(kit.Service{Version: "v0", Sequential: true})},
		{Name: "INCR, 666 simultaneously: as printed", Run: kit.PageViews(kit.Service{Version: "v0"})},
		{Name: "read and write, 666 simultaneously: as reported", Expect: experiments.Sometimes, Run: kit.PageViews(kit.Service{Version: "v1"})},
	},
})
