package claims

import (
	"time"

	"locklab/experiments"
)

var _ = register(experiments.Experiment{
	ID:      "P0-atomic",
	Article: "A4",
	Claim:   "INCR needs no lock: A4's first listing, run as it is printed, ends at 666 and not at 34.",
	Says:    "Without a lock, 666 requests at once on two instances leave the counter at 34.",
	Erratum: "A4's listing without a lock increments with an atomic INCR (AtomicLong.incrementAndGet), and loses nothing. The reported 34 needs a read and a write, as in its listing with synchronized, without the synchronized.",
	Drawing: `
A    INCR → 1                       A    GET → 0           SET 1
B              INCR → 2             B            GET → 0          SET 1
as printed: nothing between         as reported: both read 0, one update is gone`,
	How:     "666 requests at once, each on a connection that is open already, halved exactly between two instances: at INCR, and at a read and a write. The control sends them one after the other.",
	Anomaly: lostUpdate,
	Takes:   4 * time.Second,
	Check:   lostViews,
	Variants: []experiments.Variant{
		{Name: "INCR, one request at a time", Run: views(service{version: "v0", inTurn: true})},
		{Name: "INCR, 666 at once: as printed", Run: views(service{version: "v0"})},
		{Name: "read and write, 666 at once: as reported", Expect: experiments.Sometimes, Run: views(service{version: "v1"})},
	},
})
