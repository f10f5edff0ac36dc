package pageviews

import (
	"context"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/versions"
)

var P2 = Experiments.Add(lab.Experiment{
	ID:       "P2-process-mutex",
	Articles: lab.Articles{"A4"},
	Claim: `
		A mutex in the process protects one instance and not two: with a second one, an instance even writes its own values twice.`,
	Level:    lab.Basic,
	Anomaly:  services.LostUpdate,
	Schedule: lab.Schedule{Takes: 3 * time.Second},
	Check:    services.LostViews,
	Variants: []lab.Variant{
		{Name: "one instance", Run: services.PageViews(services.Service{Version: "v2", Instances: 1})},
		{Name: "two instances", Expect: lab.Sometimes, Strategy: "v2", Run: services.PageViews(services.Service{Version: "v2"})},
		{Name: "two mutexes, step by step", Expect: lab.Sometimes, Run: ownMutex(1, 0)},
		{Name: "an old value comes back", Expect: lab.Sometimes, Run: ownMutex(2, 1)},
	},
})

// ownMutex lets two clients with a mutex each, as two processes have, count one view each. A counts first, so many times. Then B writes
// what it has worked out before, and A counts the rest.
func ownMutex(first, rest int) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		r := clients.NewResource(t, false)
		a := clients.Open(t, "A", versions.NameProcess, versions.Backends{})
		b := clients.Open(t, "B", versions.NameProcess, versions.Backends{})
		a.Key, b.Key = "the mutex of A", "the mutex of B"
		slow := b.Acquire(ctx)
		old := r.Read(slow)
		for range first {
			a.Update(ctx, r)
		}
		r.Write(slow, old+1)
		slow.Release(ctx)
		for range rest {
			a.Update(ctx, r)
		}
	}
}
