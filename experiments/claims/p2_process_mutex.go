package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/lockstrategy"
)

var _ = register(experiments.Experiment{
	ID:      "P2-process-mutex",
	Article: "A4",
	Claim: `
		A mutex in the process protects one instance and not two. Beside another instance, one instance even writes its own values twice.`,
	Says: `
		With synchronized, 666 requests on two instances leave the counter at 391. No value repeats inside one instance, and both instances
		write the same values.`,
	Errata: []experiments.Erratum{{Article: "A4", What: `
		A4 says that no value repeats inside one process. Beside another process some do: the other process sets the counter back, and the same
		values are written again.`}},
	Drawing: `
instance-1          [ GET → 0  SET 1 ] [ GET → 1  SET 2 ]            [ GET → 1  SET 2 ]   2 again
instance-2   [ GET → 0                                      SET 1 ]`,
	How: `
		666 simultaneous requests go to one instance and to two. The last variant forces the worst interleaving: two clients have a mutex each,
		as two processes do. One reads and is slow while the other counts twice. The values of each client are checked by themselves.`,
	Anomaly: kit.LostUpdate,
	Takes:   3 * time.Second,
	Check:   kit.LostViews,
	Variants: []experiments.Variant{
		{Name: "one instance", Run: kit.PageViews(kit.Service{Version: "v2", Instances: 1})},
		{Name: "two instances", Expect: experiments.Sometimes, Strategy: "v2", Run: kit.PageViews(kit.Service{Version: "v2"})},
		{Name: "two processes, the values of each", Expect: experiments.Sometimes, Run: setBack},
	},
})

// setBack lets B read, be slow, and set the counter back under A, whose mutex is another. Each client has a key in the
// history, so that a value is found only if one client writes it twice.
func setBack(ctx context.Context, t *experiments.Trial) {
	var counter int64
	read := func(h *kit.Holder) int64 {
		h.Record(history.Event{Kind: history.Read, Key: "counter, by " + h.Name, Value: counter})
		return counter
	}
	write := func(h *kit.Holder, value int64) {
		counter = value
		h.Record(history.Event{Kind: history.Write, Key: "counter, by " + h.Name, Value: value})
	}
	a := kit.Open(t, "A", lockstrategy.NameProcess, lockstrategy.Backends{})
	b := kit.Open(t, "B", lockstrategy.NameProcess, lockstrategy.Backends{})
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
