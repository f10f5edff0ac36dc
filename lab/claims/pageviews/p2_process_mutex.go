package pageviews

import (
	"context"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
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
		{Name: "two processes, the values of each", Expect: lab.Sometimes, Run: setBack},
	},
})

// setBack lets B read, be slow, and set the counter back under A, whose mutex is another. Each client has a key in the
// history, so that a value is found only if one client writes it twice.
func setBack(ctx context.Context, t *lab.Trial) {
	var counter int64
	read := func(h *clients.LocalHolder) int64 {
		h.Record(history.Event{Kind: history.Read, Key: "counter, by " + h.Name, Value: counter})
		return counter
	}
	write := func(h *clients.LocalHolder, value int64) {
		counter = value
		h.Record(history.Event{Kind: history.Write, Key: "counter, by " + h.Name, Value: value})
	}
	a := clients.Open(t, "A", versions.NameProcess, versions.Backends{})
	b := clients.Open(t, "B", versions.NameProcess, versions.Backends{})
	a.Key, b.Key = "the mutex of A", "the mutex of B"
	slow := b.Acquire(ctx)
	old := read(slow)
	for n := range 3 {
		if n == 2 {
			write(slow, old+1)
		}
		h := a.Acquire(ctx)
		write(h, read(h)+1)
		h.Release(ctx)
	}
	slow.Release(ctx)
}
