package anatomy

import (
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
)

var L07 = Experiments.Add(lab.Experiment{
	ID:       "L07-explicit-lease",
	Articles: lab.Articles{"A3"},
	Claim:    "A lease that is given explicitly is not renewed: work that lasts longer is not protected to its end.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 5 * time.Second},
	Check:    history.Counter,
	Variants: []lab.Variant{
		{Name: "no lease named", Run: clients.WorkBesideWaiter(namedLease, 2*namedLease, 0)},
		{
			Name: "a lease named", Expect: lab.Sometimes,
			Run: clients.WorkBesideWaiter(namedLease, 2*namedLease, namedLease),
		},
	},
})

// namedLease is both leases: the one that is named, and the one that is renewed.
const namedLease = 500 * time.Millisecond
