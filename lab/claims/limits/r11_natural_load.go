package limits

import (
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/claims/services"
	"locklab/lab/history"
	"locklab/systems/ratelimit"
)

var R11 = Experiments.Add(lab.Experiment{
	ID:       "R11-natural-load",
	Articles: lab.Articles{"A0"},
	Claim: `
		Under a load that nobody arranges, A0's listing on twelve instances exceeds 2000 calls a minute: by a call or two under a steady load,
		and by as many as come at the same moment.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Slow: true, Takes: 40 * time.Second, Trials: 1}, // twelve processes, and thousands of calls
	Check:    aboveLimit,
	Variants: []lab.Variant{
		{Name: "one script, 400 a second", Run: naturally("r3", burst.Shared(articleClients, 400))},
		{Name: "one script, 120 clients without a pause", Run: naturally("r3", burst.Shared(articleClients, 0))},
		{Name: "as printed, 400 a second", Expect: lab.Sometimes, Run: naturally("r2", burst.Shared(articleClients, 400))},
		{
			Name: "as printed, 120 clients without a pause", Expect: lab.Sometimes,
			Run: naturally("r2", burst.Shared(articleClients, 0)),
		},
		{Name: "as printed, 2400 simultaneously", Expect: lab.Sometimes, Run: naturally("r2", burst.Simultaneous)},
		{
			Name: "with >=, 120 clients without a pause", Expect: lab.Sometimes,
			Run: naturally("r9", burst.Shared(articleClients, 0)),
		},
	},
})

// articleLimit is that of A0's supplier.
var articleLimit = ratelimit.Limit{Key: "rates", Count: 2000, Window: time.Minute}

const articleClients = 10 * services.SupplierNodes

// naturally sends 2400 requests to twelve instances: 400 of them above the limit.
func naturally(algorithm string, send burst.Send) lab.Scenario {
	return callSupplier(algorithm, services.SupplierNodes, articleLimit, articleLimit.Count+400, send)
}

// aboveLimit finds a minute with more calls than the limit. Its evidence are the calls above the limit only.
func aboveLimit(trial []history.Event) []history.Violation {
	found := services.OverLimit(articleLimit)(trial)
	for i := range found {
		found[i].Events = found[i].Events[articleLimit.Count:]
	}
	return found
}
