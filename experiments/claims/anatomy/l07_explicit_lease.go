package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
)

var L07 = experiments.Experiment{
	ID:       "L07-explicit-lease",
	Articles: experiments.Articles{"A3"},
	Claim:    "A lease that is given explicitly is not renewed: work that lasts longer is not protected to its end.",
	Level:    experiments.Medium,
	Schedule: experiments.Schedule{Takes: 5 * time.Second},
	Check:    history.Counter,
	Variants: []experiments.Variant{
		{Name: "no lease named", Run: clients.WorkBesideWaiter(namedLease, 2*namedLease, 0)},
		{
			Name: "a lease named", Expect: experiments.Sometimes,
			Run: clients.WorkBesideWaiter(namedLease, 2*namedLease, namedLease),
		},
	},
}

// namedLease is both leases: the one that is named, and the one that is renewed.
const namedLease = 500 * time.Millisecond
